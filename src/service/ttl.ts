import { TaskError } from "../task/errors";
import type { Task } from "../task/task";
import type { Limits } from "./limits";

type Lifetime = Pick<Task, "createdAt" | "ttlMs">;

/**
 * The ttl that reaches past a wait, with room for a run after it and for fetching what that came to. Refused where even
 * the wait and the fetching would exceed the maximum.
 */
export function raisedTtl(
  { createdAt, ttlMs }: Lifetime,
  limits: Limits,
  until: number,
  verb: "question" | "sleep",
): number | null {
  const { maxTtlMs, minTtlMs, timeoutMs } = limits;
  if (ttlMs === null) return null;
  const needed = until + minTtlMs - createdAt;
  if (maxTtlMs !== null && needed > maxTtlMs && needed > ttlMs) {
    throw new TaskError(
      "invalid",
      `A ${verb} that long would keep the task ${needed} ms, more than TASK_MAX_TTL_MS (${maxTtlMs}) allows.`,
    );
  }
  return Math.max(ttlMs, Math.min(needed + timeoutMs, maxTtlMs ?? Infinity));
}

/** `QUESTION_TTL_MS`, or what the longest ttl leaves of it; never less than a moment, so that the ask itself decides. */
export function longestWait({ createdAt, ttlMs }: Lifetime, limits: Limits, now: number): number {
  const { questionTtlMs, maxTtlMs, minTtlMs } = limits;
  if (ttlMs === null || maxTtlMs === null) return questionTtlMs;
  return Math.max(1, Math.min(questionTtlMs, createdAt + Math.max(ttlMs, maxTtlMs) - minTtlMs - now));
}

/** ms, or null for unlimited. Wishes are moved into the allowed range, and the task tells the true value. */
export function clampTtl(wanted: number | null, { minTtlMs, maxTtlMs }: Limits): number | null {
  if (wanted === null) return maxTtlMs;
  const raised = Math.max(Math.round(wanted), minTtlMs);
  return maxTtlMs === null ? raised : Math.min(raised, maxTtlMs);
}
