// What a run that did not finish means for its task, wherever it went on.
import type { Failure, TaskEvent } from "../task/event";
import type { Outcome, Task } from "../task/task";
import { attemptBackOff, restartPause } from "./back-off";
import type { Limits } from "./limits";

type FailedParts = {
  readonly most: number;
  readonly limits: Limits;
  /** Unix ms. */
  readonly at: number;
  readonly random: () => number;
};

/** An attempt failed: another follows after a while, or `giveUp` is the outcome when `most` were made. */
export function failedAttempt(
  { attempts }: Task,
  giveUp: Outcome,
  reason: string,
  { most, limits, at, random }: FailedParts,
): Failure {
  return {
    at,
    retryAt: attempts + 1 >= most ? null : at + attemptBackOff(attempts, random),
    statusMessage: most > 1 ? `Attempt ${attempts + 1} of ${most}: ${reason}` : reason,
    giveUp,
    minTtlMs: limits.minTtlMs,
  };
}

/** The platform cut a run off. */
export const restarted = ({ restarts }: Task, { maxRestarts, minTtlMs }: Limits, at: number): TaskEvent => ({
  type: "restarted",
  at,
  retryAt: at + restartPause(restarts),
  maxRestarts,
  minTtlMs,
});
