import { INVALID_PARAMS, type RequestId } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import { notFound } from "../../task/errors";
import type { JsonObject, JsonText } from "../../task/json";
import type { InputRequest } from "../../task/task";
import { errorOf } from "../outcome";
import { isoTime, toTask, type Task } from "../task-view";
import { subscriptionMeta, toResult } from "./results";

/** Flat, and without result, error or questions: those are for `tasks/get` (tasks §Task Creation). */
export const toCreateTaskResult = (task: TaskSnapshot): JsonText => toResult("task", toTask(task));

/** `resultType` is "complete" here; "task" is for the handle alone (tasks §Task Polling). */
export const toGetTaskResult = (task: TaskSnapshot): JsonText =>
  withResult(toResult("complete", toDetailedTask(task)), task);

/** The same facts as `tasks/get` gives at that moment (tasks §Task Status Notifications). */
export const toTaskNotification = (task: TaskSnapshot, subscription: RequestId): JsonText =>
  withResult(JSON.stringify({ ...toDetailedTask(task), _meta: subscriptionMeta(subscription) }), task);

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

/** schema, DetailedTask, but for the result. */
function toDetailedTask(task: TaskSnapshot): object {
  const { stage, openQuestions } = task;
  const facts = toTask(task);
  if (stage.phase === "input_required") return { ...facts, inputRequests: toInputRequests(openQuestions) };
  const error = stage.phase === "settled" ? errorOf(stage.outcome) : null;
  if (error === null) return facts;
  const { data } = error;
  return { ...facts, error: { ...error, data: data === undefined ? data : (JSON.parse(data) as unknown) } };
}

/**
 * A result is put in as the text that is stored, so that megabytes need not be parsed to be sent. The official client
 * refuses one that does not say its own type, though no text demands it.
 */
function withResult(facts: JsonText, { stage }: TaskSnapshot): JsonText {
  if (stage.phase !== "settled" || stage.outcome.kind !== "result") return facts;
  const { result } = stage.outcome;
  const typed = result.includes('"resultType"')
    ? JSON.stringify({ ...(JSON.parse(result) as object), resultType: "complete" })
    : result.replace("{", result === "{}" ? '{"resultType":"complete"' : '{"resultType":"complete",');
  return `${facts.slice(0, -1)},"result":${typed}}`;
}
