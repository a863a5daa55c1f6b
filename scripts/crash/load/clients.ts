import { setTimeout as delay } from "node:timers/promises";
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Server } from "../server.ts";
import { Unanswered } from "../wire.ts";
import type { Door } from "./door.ts";

/** Nobody acts without a break; the more there are, the less each does. */
const LONGEST_BREAK_MS = 60;

export type Clients = {
  /** No new act is begun; resolves when the last one is over. */
  stop(): Promise<void>;
};

/** So many clients, each using any door, until they are stopped. */
export function startClients(
  count: number,
  doors: readonly Door[],
  server: Server,
  journal: Journal,
  random: Random,
): Clients {
  let stopped = false;
  const live = async (chance: Random): Promise<void> => {
    while (!stopped) {
      const life = await server.up();
      try {
        await anyDoor(doors, chance).act(chance, journal);
      } catch (error) {
        if (!(error instanceof Unanswered) && server.life === life) throw error;
        if (error instanceof Unanswered) journal.found("an answer to each", error.message);
      }
      await delay(chance.below(LONGEST_BREAK_MS));
    }
  };
  const lives = Array.from({ length: count }, (_, at) => live(random.fork(`client ${at}`)));
  return {
    async stop() {
      stopped = true;
      await Promise.all(lives);
    },
  };
}

function anyDoor(doors: readonly Door[], random: Random): Door {
  let left = random.next() * doors.reduce((sum, { weight }) => sum + weight, 0);
  return doors.find(({ weight }) => (left -= weight) < 0) ?? (doors[0] as Door);
}
