import type { JsonObject, JsonText } from "../../task/json";
import { readParams } from "../schemas";
import type { Call } from "./call";
import { toResult } from "./results";
import { TaskParams, UpdateTaskParams } from "./schemas";
import { requireTasks } from "./tasks-extension";
import { toGetTaskResult } from "./view";

export async function getTask(call: Call): Promise<JsonText> {
  requireTasks(call.capabilities, call.method);
  const { taskId } = readParams(call, TaskParams);
  return toGetTaskResult(await call.deps.tasks.get(call.principal, taskId));
}

/** Applied before the ack; an answer nobody waits for is acked all the same (tasks §Task Update Requests). */
export async function updateTask(call: Call): Promise<JsonText> {
  requireTasks(call.capabilities, call.method);
  const { taskId, inputResponses } = readParams(call, UpdateTaskParams);
  await call.deps.tasks.answer(call.principal, taskId, toAnswers(inputResponses));
  return acknowledgment();
}

/** Idempotent: a settled task is acked too, and stays as it is (tasks §Task Cancellation). */
export async function cancelTask(call: Call): Promise<JsonText> {
  requireTasks(call.capabilities, call.method);
  const { taskId } = readParams(call, TaskParams);
  await call.deps.tasks.cancel(call.principal, taskId);
  return acknowledgment();
}

/** Answers by wire key, as JSON text. */
export const toAnswers = (inputResponses: JsonObject): Readonly<Record<string, JsonText>> =>
  Object.fromEntries(Object.entries(inputResponses).map(([key, answer]) => [key, JSON.stringify(answer)]));

/** Without a word about the task: its state is for `tasks/get`. */
const acknowledgment = (): JsonText => toResult("complete", {});
