import { setTimeout as delay } from "node:timers/promises";
import type { Acknowledged, Journal } from "./journal.ts";
import type { Door } from "./load/door.ts";
import { Mcp2025 } from "./load/mcp-2025.ts";
import { WORKFLOW } from "./load/errands.ts";
import { Mcp2026 } from "./load/mcp-2026.ts";
import { Workers } from "./load/workers.ts";
import type { Random } from "./random.ts";
import { OWNERS, type Server } from "./server.ts";

/** Past whatever an errand waits for, and short of the end of its ttl however often it is done. */
const MOVE_MS = 7_200_000;
const MOST_MOVES = 8;
/** When nothing has changed for so long, what is left waits for a time to come. */
const QUIET_MS = 2_000;
/** The same of Workflows, whose engine takes a while after a kill to go on with them. */
const WORKFLOWS_QUIET_MS = 45_000;
/** So long after a kill an alarm tells an index what the kill kept from it; nothing else would show that it is due. */
const TOLD_BY_MS = 32_000;
/** Past the longest ttl there is. */
const FOREVER_MS = 40 * 86_400_000;
const MOST_SWEEPS = 200;

/**
 * Has everything end that can: questions are answered (but for some, which have to lapse), time goes on, the cron runs.
 * What is left then is stuck, which the audit tells.
 */
export async function comeToRest(server: Server, journal: Journal, random: Random): Promise<void> {
  const modern = new Mcp2026(server);
  const workers = new Workers(server);
  await listAll(new Mcp2025(server), journal);
  const ids = journal.live().map(({ id }) => id);
  const leftAlone = new Set(ids.filter(() => random.chance(0.2)));
  /** Questions from before the clock was moved, as `task question`: all of these have lapsed then. */
  const lapsed = new Set<string>();
  let moves = 0;
  let before = "";
  let quietSince = Date.now();
  for (;;) {
    const seen: (string | null)[] = [];
    await workers.finish(journal);
    for (const task of journal.live()) {
      seen.push(await modern.get(task, journal));
      const asks = task.open.some((key) => !lapsed.has(`${task.id} ${key}`));
      if (asks && !leftAlone.has(task.id)) await modern.answer(task, random, journal);
    }
    if (seen.join() !== before) quietSince = Date.now();
    before = seen.join();
    const live = journal.live();
    if (live.length > 0 && Date.now() - quietSince < (live.some(mayGoOn) ? WORKFLOWS_QUIET_MS : QUIET_MS)) {
      await delay(100);
      continue;
    }
    if (moves > 0 && (live.length === 0 || moves === MOST_MOVES)) break;
    for (const { id, open } of live) for (const key of open) lapsed.add(`${id} ${key}`);
    leftAlone.clear();
    moves += 1;
    await server.moveClock(moves * MOVE_MS);
    await sweepAll(server, journal);
    quietSince = Date.now();
  }
  await delay(Math.max(0, server.upSince + TOLD_BY_MS - Date.now()));
  // A queue forgets what was taken from it when the lease is over, and somebody claims.
  await server.moveClock((moves + 1) * MOVE_MS);
  await sweepAll(server, journal);
  await workers.finish(journal);
}

/** By itself, and late. Of a task that was only listed nobody knows. */
const mayGoOn = ({ note, open }: Acknowledged): boolean =>
  open.length === 0 && (note === null || note.startsWith(WORKFLOW));

/** Has everything expire, and the cron collect it; what never expires is taken away by who left it there. */
export async function expireAll(server: Server, doors: readonly Door[], journal: Journal): Promise<void> {
  for (const door of doors) await door.clear?.(journal);
  await server.moveClock(FOREVER_MS);
  await sweepAll(server, journal);
}

/** Runs the cron until there is nothing left for it to do. */
async function sweepAll(server: Server, journal: Journal): Promise<void> {
  for (let run = 0; run < MOST_SWEEPS; run += 1) {
    const { examined, failures, finished } = await server.sweep();
    journal.count("sweeps");
    if (failures > 0) journal.found("the cron finds all", `A sweep at rest met ${failures} failures.`);
    if (examined === 0 && finished) return;
  }
  journal.found("the cron finds all", `After ${MOST_SWEEPS} sweeps at rest there is still something to do.`);
}

/** From here on their owners know also of tasks whose call was lost. */
async function listAll(core: Mcp2025, journal: Journal): Promise<void> {
  for (const owner of OWNERS)
    for (const { taskId } of (await core.list(owner, journal)) ?? [])
      journal.acknowledged(String(taskId), { door: "tasks/list", owner, note: null });
}
