import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Server } from "../server.ts";

/** One way in, and the clients that use it. */
export interface Door {
  readonly name: string;
  /** How often it is used, beside the others. */
  readonly weight: number;
  /** One thing that a client does, to its answer or its loss. What was acknowledged is in the journal then. */
  act(random: Random, journal: Journal): Promise<void>;
  /** All is at rest: whoever waits here has to be answered, and what the journal knows has to read as it did. */
  verify(journal: Journal): Promise<void>;
  /** At the end: takes away what no time takes away. */
  clear?(journal: Journal): Promise<void>;
}

export type MakeDoor = (server: Server) => Door;
