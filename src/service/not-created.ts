import { overLimit, TaskError, tooFast } from "../task/errors";
import type { Created } from "./task-store";

/** Whatever expires may take as long as it lives. */
const RETRY_AFTER_MS = 60_000;

export const tooManyCreated = (value: number, retryAfterMs: number): TaskError =>
  tooFast("CREATES_PER_MINUTE", value, "the next minute brings new ones.", retryAfterMs);

/** Why a store keeps nothing new, as whoever wanted it is told. */
export function notCreated(refused: Exclude<Created, { readonly task: unknown }>): TaskError {
  switch (refused.kind) {
    case "rate":
      return tooManyCreated(refused.value, refused.retryAfterMs);
    case "conflict":
      return new TaskError("conflict", "This idempotency key was used before for something else.");
    case "limit":
      return overLimit(refused.limit, refused.value, "whatever expires frees its place.", RETRY_AFTER_MS);
  }
}
