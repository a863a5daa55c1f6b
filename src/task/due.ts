import { outstanding, type Task } from "./task";

/** A queue or a Workflow that lost what it was told is told again, this long after. */
const OFFER_AGAIN_MS = 900_000;

/** A Workflow that sleeps wakes by itself; one that has overslept by so much is called. */
const OVERSLEPT_MS = 5_000;

/** When a run may begin, Unix ms: -Infinity where nothing holds the task back; null while one goes on or the task waits. */
function startsAt({ stage }: Pick<Task, "stage">): number | null {
  if (stage.phase === "submitted") return -Infinity;
  if (stage.phase !== "working" || stage.activity.kind === "running") return null;
  return stage.activity.kind === "due" ? -Infinity : stage.activity.until;
}

/** Whether a run may begin: nothing holds the task back, and none goes on. */
export function mayStart(task: Pick<Task, "stage">, at: number): boolean {
  const start = startsAt(task);
  return start !== null && start <= at;
}

/** The first of these instants; null for none. */
export function earliest(...times: readonly (number | null)[]): number | null {
  const first = Math.min(...times.map((at) => at ?? Infinity));
  return first === Infinity ? null : first;
}

type Offerable = Pick<Task, "runs" | "stage" | "offeredAt" | "lease">;

/** Whether its queue or its Workflow has to be told of it: a run may begin there, and it was not handed over, or long ago. */
export function mustOffer(task: Offerable, at: number): boolean {
  if (task.runs.in === "object") return false;
  if (isSilent(task, at)) return true;
  return mayStart(task, at - grace(task)) && (task.offeredAt === null || at >= task.offeredAt + OFFER_AGAIN_MS);
}

/** Whether the run in its Workflow let its lease pass. That ends nothing: the engine knows whether it still goes on. */
export const isSilent = ({ runs, stage, lease }: Offerable, at: number): boolean =>
  runs.in === "workflow" &&
  stage.phase === "working" &&
  stage.activity.kind === "running" &&
  lease !== null &&
  at >= lease.until;

const grace = ({ runs }: Pick<Task, "runs">): number => (runs.in === "workflow" ? OVERSLEPT_MS : 0);

/**
 * The next instant at which the record itself needs attention: its start, wake, deadline, lapse or expiry, whichever is
 * first, or that somebody is to be told of it; null for none. A task that runs where it lives needs none of the former
 * but its expiry: whoever holds the run watches it.
 * `now` is for a clock that was set back: what waits for nothing waits no longer than until then.
 */
export function nextDue(task: Task, now = Infinity): number | null {
  const push = pushDue(task, now);
  return task.stage.phase === "settled" ? push : earliest(ownDue(task, now), endOf(task), push);
}

/** When somebody is to be told something. */
export const pushDue = ({ push, version, updatedAt }: Task, now: number): number | null =>
  earliest(...push.filter(({ cursor }) => cursor < version).map(({ retryAt }) => retryAt ?? Math.min(updatedAt, now)));

/** The same but for the expiry: when somebody has to set it going, for whoever does not keep it. */
export const nextWork = (task: Task, now?: number): number | null => nextDue({ ...task, ttlMs: null }, now);

const endOf = ({ lease, ttlMs, createdAt }: Task): number =>
  Math.min(lease?.until ?? Infinity, ttlMs === null ? Infinity : createdAt + ttlMs);

function ownDue(task: Task, now: number): number {
  const { stage, offeredAt, updatedAt } = task;
  if (stage.phase === "input_required") return Math.min(...outstanding(task).map((question) => question.deadline));
  const start = startsAt(task);
  if (start === null) return Infinity;
  if (offeredAt !== null) return offeredAt + OFFER_AGAIN_MS;
  return start === -Infinity ? Math.min(updatedAt, now) : start + grace(task);
}
