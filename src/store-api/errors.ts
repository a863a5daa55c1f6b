import type { Principal } from "../service/principal";
import { FAULT, logThrown, retryAfter } from "../service/thrown";
import { TaskError, type TaskErrorCode } from "../task/errors";
import type { Answer } from "./answer";
import { objectText, type Texts } from "./record-text";

/** What the inside calls it → what this door says. */
const STATUS = {
  not_found: 404,
  invalid: 400,
  unknown_tool: 400,
  // Only a worker meets it: the client that made its task cannot be asked that.
  capability_missing: 409,
  task_required: 400,
  settled: 409,
  conflict: 409,
  limit_reached: 429,
  rate_limited: 429,
  too_large: 413,
  overloaded: 503,
  misconfigured: 500,
  internal: 500,
} satisfies Readonly<Record<TaskErrorCode, number>>;

/** Codes that only this door has: what is wrong with the request itself, and what a write met. */
export type DoorCode =
  | "unauthenticated"
  | "insufficient_scope"
  | "method_not_allowed"
  | "not_acceptable"
  | "unsupported_media_type"
  | "already_exists"
  | "stale"
  | "terminal"
  | "lease_lost"
  | "cancelled";

type ErrorFacts = {
  readonly data?: object;
  readonly headers?: Answer["headers"];
  /** Members beside `error`, of JSON text. */
  readonly beside?: Texts;
};

/** What this door itself has to refuse. */
export class Refused extends Error {
  readonly code: TaskErrorCode | DoorCode;
  readonly answer: Answer;

  constructor(status: number, code: TaskErrorCode | DoorCode, message: string, facts?: ErrorFacts) {
    super(message);
    this.code = code;
    this.answer = errorAnswer(status, code, message, facts);
  }
}

export const errorAnswer = (
  status: number,
  code: TaskErrorCode | DoorCode,
  message: string,
  { data = {}, headers, beside }: ErrorFacts = {},
): Answer => ({
  status,
  text: objectText({ error: { code, message, ...(Object.keys(data).length > 0 && { data }) } }, beside),
  headers,
});

export const notAllowed = (methods: readonly string[]): Refused =>
  new Refused(405, "method_not_allowed", `This takes ${methods.join(", ")}.`, {
    headers: { Allow: methods.join(", ") },
  });

/** Whatever was thrown, as this door says it, and a line of it in the log. */
export function explainThrown(
  thrown: unknown,
  log: ((line: object) => void) | undefined,
  principal?: Principal,
): Answer {
  const { code, answer } = thrown instanceof Refused ? thrown : refusedBy(thrown);
  logThrown(thrown, { status: answer.status, code }, log, principal);
  return answer;
}

function refusedBy(thrown: unknown): Refused {
  const { code, message, data } = thrown instanceof TaskError ? thrown : new TaskError("internal", FAULT);
  const { retryAfterMs } = data;
  const headers = retryAfterMs === undefined ? {} : retryAfter(retryAfterMs);
  return new Refused(STATUS[code], code, message, { data, headers });
}
