// What workers send, found usable or refused with a sentence that says why.
import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import type { InputRequest, Progress, RpcError } from "../task/task";
import { toInputRequest } from "../tool/asks";
import type { Ask } from "../tool/context";
import { QUEUE_NAME } from "../tool/declaration";
import { DEFAULT_LEASE_MS, LEASE_RANGE_MS } from "./work";
import type { ClaimWish } from "./work-service";

/** The most tasks of one claim, and its longest wait, ms. */
export const CLAIM_RANGE = { max: 100, waitMs: 30_000 } as const;

const MOST_TOOLS = 100;
const MOST_QUESTIONS = 100;
const LONGEST_NAME = 200;
const LONGEST_LINE = 1_000;
/** An error says what went wrong; it is no place for a result. */
const LONGEST_MESSAGE = 100_000;

export type CheckedWish = Required<ClaimWish>;

export function checkWish(queue: string, wish: ClaimWish): CheckedWish {
  if (!QUEUE_NAME.test(queue)) throw invalid("A queue's name is 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`.");
  const { max = 1, waitMs = 0, leaseMs = DEFAULT_LEASE_MS, tools = null } = wish;
  if (tools !== null && tools.length > MOST_TOOLS) throw invalid(`\`tools\` may name ${MOST_TOOLS} tools at most.`);
  return {
    claimId: named("claimId", wish.claimId),
    worker: named("worker", wish.worker),
    max: within("max", max, 1, CLAIM_RANGE.max),
    waitMs: within("waitMs", waitMs, 0, CLAIM_RANGE.waitMs),
    leaseMs: checkLeaseMs(leaseMs),
    tools,
  };
}

export const checkLeaseMs = (leaseMs: number): number =>
  within("leaseMs", leaseMs, LEASE_RANGE_MS.shortest, LEASE_RANGE_MS.longest);

/** Only what is known, and only what JSON can carry: it is stored with the task. */
export const checkProgress = ({ message, progress, total }: Progress): Progress => ({
  ...(typeof message === "string" ? { message: message.slice(0, LONGEST_LINE) } : {}),
  ...(Number.isFinite(progress) ? { progress: Number(progress) } : {}),
  ...(Number.isFinite(total) ? { total: Number(total) } : {}),
});

/** Checked as a tool's own: one malformed question would spoil the whole task for a strict client. */
export function checkQuestions(
  questions: Readonly<Record<string, InputRequest>>,
): Readonly<Record<string, InputRequest>> {
  const asked = Object.entries(questions);
  if (asked.length === 0 || asked.length > MOST_QUESTIONS)
    throw invalid(`One ask is 1 to ${MOST_QUESTIONS} questions.`);
  // fromEntries defines its properties: a key may be `__proto__`.
  return Object.fromEntries(asked.map(([key, request]) => [named("key", key), toInputRequest(key, askOf(request))]));
}

export function checkError(error: {
  readonly code?: number;
  readonly message: string;
  readonly data?: JsonText;
}): RpcError {
  const { code = -32603, message, data } = error;
  if (!Number.isSafeInteger(code)) throw invalid("`error.code` must be a whole number.");
  if (message.length === 0) throw invalid("`error.message` must say what went wrong.");
  return { code, message: message.slice(0, LONGEST_MESSAGE), ...(data === undefined ? {} : { data }) };
}

export function checkTimeoutMs(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs !== undefined) within("timeoutMs", timeoutMs, 1, Number.MAX_SAFE_INTEGER);
  return timeoutMs;
}

function askOf({ method, params }: InputRequest): Ask {
  switch (method) {
    case "elicitation/create": {
      const { mode, message, requestedSchema, url } = params;
      return mode === "url"
        ? { kind: "url", message: message as string, url: url as string }
        : { kind: "form", message: message as string, schema: (requestedSchema ?? {}) as Record<string, never> };
    }
    case "sampling/createMessage":
      return { kind: "sampling", params };
    case "roots/list":
      return { kind: "roots" };
    default:
      throw invalid("A question's method is elicitation/create, sampling/createMessage or roots/list.");
  }
}

function named(what: string, text: string): string {
  if (text.length >= 1 && text.length <= LONGEST_NAME) return text;
  throw invalid(`\`${what}\` must be 1 to ${LONGEST_NAME} characters.`);
}

function within(what: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw invalid(`\`${what}\` must be a whole number from ${least} to ${most}.`);
}

const invalid = (message: string): TaskError => new TaskError("invalid", message);
