import type { TaskRecord } from "../service/task-record";
import type { SweepReport } from "../service/task-store";
import type { Task } from "../task/task";
import { taskSql } from "./task-sql";

/** Rows that go with one statement. */
const AT_ONCE = 100;

const MINUTE_MS = 60_000;

/** For how many minutes what counts an owner or an address outlives its last use. */
const IDLE_MINUTES = 60;

type Removed = { record: string; phase: Task["stage"]["phase"] };

/**
 * Removes what has expired, and the counters that nobody needs any more; each removed task counts as one call. Any number
 * of runs at once are safe: a row goes once. `expired` are those that had not come to an end before.
 */
export async function collect(
  db: D1Database,
  now: number,
  budget: number,
): Promise<{ readonly report: SweepReport; readonly expired: readonly Task[] }> {
  const minute = Math.floor(now / MINUTE_MS) - IDLE_MINUTES;
  await db.batch([
    db.prepare(taskSql.forgetGone),
    db.prepare(taskSql.forgetIdle).bind(minute),
    db.prepare(taskSql.forgetAddresses).bind(minute),
  ]);
  const expired: Task[] = [];
  let calls = 1;
  let removed = 0;
  let finished = false;
  while (!finished && calls + 1 < budget) {
    const most = Math.min(AT_ONCE, budget - calls - 1);
    const { results } = await db.prepare(taskSql.removeExpired).bind(now, most).all<Removed>();
    calls += 1 + results.length;
    removed += results.length;
    finished = results.length < most;
    for (const { record, phase } of results) {
      // The record of a task with very many questions lies elsewhere, and went with it.
      if (phase !== "settled" && record !== "")
        expired.push((JSON.parse(record) as TaskRecord).task as unknown as Task);
    }
  }
  const owners = 0;
  const report = { owners, examined: removed, removed, dropped: 0, poked: 0, failures: 0, calls, finished };
  return { report, expired };
}
