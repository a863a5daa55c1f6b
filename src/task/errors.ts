/** The closed set of things that can go wrong. Each wire has one table from these to its own numbers. */
export type TaskErrorCode =
  | "not_found"
  | "invalid"
  | "unknown_tool"
  | "capability_missing"
  | "task_required"
  | "settled"
  | "conflict"
  | "limit_reached"
  | "rate_limited"
  | "too_large"
  | "overloaded"
  | "misconfigured"
  | "internal";

/** Facts a wire may add to the message; `requiredCapabilities` is an MCP `ClientCapabilities` object. */
export type TaskErrorData = {
  readonly limit?: string;
  readonly value?: number;
  readonly retryAfterMs?: number;
  readonly requiredCapabilities?: Readonly<Record<string, unknown>>;
};

/** The one error type inside. The message is a sentence a stranger can act on, and is safe to send. */
export class TaskError extends Error {
  override readonly name = "TaskError";
  readonly code: TaskErrorCode;
  readonly data: TaskErrorData;

  constructor(code: TaskErrorCode, message: string, data: TaskErrorData = {}) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** More of something than a limit allows: `rest` goes on from its name and value, and says what to do. */
export const overLimit = (limit: string, value: number, rest: string, retryAfterMs?: number): TaskError =>
  new TaskError("limit_reached", `${limit} (${value}) is reached; ${rest}`, {
    limit,
    value,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

/** Faster than a limit allows. */
export const tooFast = (limit: string, value: number, rest: string, retryAfterMs: number): TaskError =>
  new TaskError("rate_limited", `${limit} (${value}) is used up; ${rest}`, { limit, value, retryAfterMs });

/** Larger than a limit allows, in bytes. */
export const tooLarge = (what: string, limit: string, value: number): TaskError =>
  new TaskError("too_large", `${what} is larger than ${limit} (${value} bytes).`, { limit, value });

/** Missing, foreign, forged, mistyped and expired read the same on every door. */
export const notFound = (): TaskError => new TaskError("not_found", "No such task, or it has expired.");
