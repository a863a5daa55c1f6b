import type { Finding } from "../finding.ts";
import type { Journal } from "../journal.ts";
import type { Storage } from "./storage.ts";

/** What there is to judge by. */
export type Evidence = {
  readonly storage: Storage;
  /** What was stored when it was last looked at. */
  readonly before: Storage | null;
  readonly journal: Pick<Journal, "tasks" | "notes" | "tasksByNote" | "records" | "work" | "documents" | "tools">;
  /** The server's time. */
  readonly now: number;
  readonly maxLive: number;
};

/** One promise, held against the evidence: a sentence for each time it was broken. */
export type Audit = (evidence: Evidence) => readonly Finding[];

export const findings =
  (about: string, look: (evidence: Evidence) => Iterable<string>): Audit =>
  (evidence) =>
    [...look(evidence)].map((says) => ({ about, says }));
