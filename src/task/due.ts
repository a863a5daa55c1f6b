import { pushDue } from "./push";
import { outstanding, type Task } from "./task";

/** A queue or a Workflow that lost what it was told is told again, this long after. */
const OFFER_AGAIN_MS = 900_000;

/** A Workflow that sleeps wakes by itself; one that has overslept by so much is called. */
const OVERSLEPT_MS = 5_000;

/** Whether a run may begin: nothing holds the task back, and none goes on. */
export function mayStart({ stage }: Pick<Task, "stage">, at: number): boolean {
  if (stage.phase === "submitted") return true;
  if (stage.phase !== "working") return false;
  switch (stage.activity.kind) {
    case "running":
      return false;
    case "due":
      return true;
    case "sleeping":
    case "backing_off":
      return at >= stage.activity.until;
  }
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
  const push = pushDue(task, now) ?? Infinity;
  const earliest = task.stage.phase === "settled" ? push : Math.min(ownDue(task, now), endOf(task), push);
  return earliest === Infinity ? null : earliest;
}

/** The same but for the expiry: when somebody has to set it going, for whoever does not keep it. */
export const nextWork = (task: Task, now?: number): number | null => nextDue({ ...task, ttlMs: null }, now);

const endOf = ({ lease, ttlMs, createdAt }: Task): number =>
  Math.min(lease?.until ?? Infinity, ttlMs === null ? Infinity : createdAt + ttlMs);

function ownDue(task: Task, now: number): number {
  const { stage, offeredAt } = task;
  switch (stage.phase) {
    case "submitted":
      return offeredAt === null ? Math.min(task.updatedAt, now) : offeredAt + OFFER_AGAIN_MS;
    case "input_required":
      return Math.min(...outstanding(task).map((question) => question.deadline));
    case "working":
      switch (stage.activity.kind) {
        case "due":
          return offeredAt === null ? Math.min(task.updatedAt, now) : offeredAt + OFFER_AGAIN_MS;
        case "sleeping":
        case "backing_off":
          return offeredAt === null ? stage.activity.until + grace(task) : offeredAt + OFFER_AGAIN_MS;
        case "running":
          return Infinity;
      }
    // falls through is impossible: every activity returned
    case "settled":
      return Infinity;
  }
}
