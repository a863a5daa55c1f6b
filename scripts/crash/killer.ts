import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "./random.ts";
import type { Server } from "./server.ts";

const LONGEST_START_MS = 4_000;
const SHORT_LIFE_MS = 400;
const LONG_LIFE_MS = 5_000;
/** A busy machine is given longer, so that there is something to lose: until so many answers were given, or so long. */
const MOST_ANSWERS = 150;
const LONGEST_GRACE_MS = 8_000;

export type Killed = {
  /** Which kill it was, from 1. */
  readonly kills: number;
  /** Since it was launched, was up, or gave a client its first answer. */
  readonly since: "launch" | "start" | "work";
  readonly afterMs: number;
};

/** Kills the server so often, each time at an instant that the seed gives. `onKill` may look at what lies on the disk. */
export async function kill(
  server: Server,
  kills: number,
  random: Random,
  onKill: (killed: Killed) => void,
): Promise<void> {
  let starting: Promise<boolean> | null = null;
  for (let done = 1; done <= kills; done += 1) {
    const { since, afterMs } = anyInstant(random, starting !== null);
    const answers = since === "work" ? random.below(MOST_ANSWERS) : 0;
    if (since !== "launch") await starting;
    // Should nobody ever get an answer, that is found elsewhere.
    if (since === "work") await Promise.race([server.atWork(), delay(60_000, undefined, { ref: false })]);
    await delay(afterMs);
    for (let end = Date.now() + LONGEST_GRACE_MS; server.answers < answers && Date.now() < end;) await delay(10);
    await server.kill();
    await starting;
    onKill({ kills: done, since, afterMs });
    starting = server.restart();
  }
  await starting;
}

function anyInstant(random: Random, isStarting: boolean): Pick<Killed, "since" | "afterMs"> {
  const what = random.next();
  if (what < 0.12 && isStarting) return { since: "launch", afterMs: random.below(LONGEST_START_MS) };
  // While it still sets going what the last kill cut off.
  if (what < 0.3) return { since: "start", afterMs: random.below(SHORT_LIFE_MS) };
  return { since: "work", afterMs: random.below(LONG_LIFE_MS) };
}
