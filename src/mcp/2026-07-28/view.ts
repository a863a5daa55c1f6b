import { INVALID_PARAMS, type RequestId } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import { notFound } from "../../task/errors";
import type { JsonObject, JsonText } from "../../task/json";
import type { InputRequest, RpcError } from "../../task/task";
import { errorOf } from "../outcome";
import { progressText } from "../progress-text";
import { subscriptionMeta, toResult, withMember } from "./results";

type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The tasks extension's `Task` (tasks §Tasks). */
export type Task = {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
};

/** Less would have clients spin; absent, the official client falls back to an interval of its own. */
const MIN_POLL_INTERVAL_MS = 250;

/** Flat, and without result, error or questions: those are for `tasks/get` (tasks §Task Creation). */
export const toCreateTaskResult = (task: TaskSnapshot): JsonText => toResult("task", toTask(task));

/** `resultType` is "complete" here; "task" is for the handle alone (tasks §Task Polling). */
export const toGetTaskResult = (task: TaskSnapshot): JsonText =>
  withOutcome(toResult("complete", openFacts(task)), task);

/** The same facts as `tasks/get` gives at that moment (tasks §Task Status Notifications). */
export const toTaskNotification = (task: TaskSnapshot, subscription: RequestId): JsonText =>
  withOutcome(JSON.stringify({ ...openFacts(task), _meta: subscriptionMeta(subscription) }), task);

/** The last word on a task that expired while somebody listened: what `tasks/get` says from now on. */
export function toGoneNotification(task: TaskSnapshot, subscription: RequestId, now: number): JsonText {
  const { message } = notFound();
  const last: Task = {
    ...toTask(task),
    status: "failed",
    statusMessage: message,
    lastUpdatedAt: isoTime(Math.max(now, task.updatedAt)),
  };
  return JSON.stringify({ ...last, error: { code: INVALID_PARAMS, message }, _meta: subscriptionMeta(subscription) });
}

/** `inputRequests` by wire key. */
export const toInputRequests = (
  questions: readonly { readonly key: string; readonly request: InputRequest }[],
): JsonObject =>
  // fromEntries also keeps a key named `__proto__`.
  Object.fromEntries(questions.map(({ key, request: { method, params } }) => [key, { method, params }]));

function toTask(task: TaskSnapshot): Task {
  const statusMessage = statusMessageOf(task);
  return {
    taskId: task.id,
    status: statusOf(task),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: isoTime(task.createdAt),
    lastUpdatedAt: isoTime(task.updatedAt),
    ttlMs: task.ttlMs === null ? null : Math.round(task.ttlMs),
    pollIntervalMs: Math.max(MIN_POLL_INTERVAL_MS, Math.round(task.pollIntervalMs)),
  };
}

function openFacts(task: TaskSnapshot): Task & { readonly inputRequests?: JsonObject } {
  const asks = task.stage.phase === "input_required";
  return { ...toTask(task), ...(asks ? { inputRequests: toInputRequests(task.openQuestions) } : {}) };
}

function statusOf({ stage }: TaskSnapshot): TaskStatus {
  if (stage.phase === "submitted") return "working";
  if (stage.phase !== "settled") return stage.phase;
  switch (stage.outcome.kind) {
    case "result":
      // A tool error too: "failed" means a JSON-RPC error in this revision (tasks §Task Execution Errors).
      return "completed";
    case "error":
    case "rejected":
    case "expired":
      return "failed";
    case "cancelled":
      return "cancelled";
  }
}

/** The one channel a task has for how far it is: progress notifications are not for tasks (tasks §Task Status Notifications). */
function statusMessageOf({ stage, statusMessage, progress }: TaskSnapshot): string | undefined {
  if (statusMessage !== null) return statusMessage;
  if (stage.phase === "settled") return errorOf(stage.outcome)?.message;
  return progress === null ? undefined : progressText(progress);
}

function withOutcome(facts: JsonText, { stage }: TaskSnapshot): JsonText {
  if (stage.phase !== "settled") return facts;
  if (stage.outcome.kind === "result") return withMember(facts, "result", toNestedResult(stage.outcome.result));
  const error = errorOf(stage.outcome);
  return error === null ? facts : withMember(facts, "error", errorText(error));
}

/** The official client refuses a nested result that does not say its own type, though no text demands it. */
function toNestedResult(stored: JsonText): JsonText {
  const simple = stored.startsWith('{"') && !stored.includes('"resultType"');
  if (simple) return `{"resultType":"complete",${stored.slice(1)}`;
  return JSON.stringify({ ...(JSON.parse(stored) as object), resultType: "complete" });
}

function errorText({ code, message, data }: RpcError): JsonText {
  const facts = JSON.stringify({ code, message });
  return data === undefined ? facts : withMember(facts, "data", data);
}

const isoTime = (ms: number): string => new Date(ms).toISOString();
