import { INVALID_PARAMS, JsonRpcError, type Answer, type Conversation } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import type { JsonText } from "../../task/json";
import type { Call, Caller } from "../legacy/call";
import { carryTask } from "../legacy/carry-task";
import { withObjectContent } from "../legacy/object-output";
import { relatedTask } from "../legacy/questions";
import { primeStream, type Resumable } from "../legacy/resume";
import { resultOf } from "../outcome";
import { readParams } from "../schemas";
import { TaskParams } from "./schemas";

/** What the call would have been answered; of a task that goes on, once it has ended (tasks §Result Retrieval). */
export async function taskResult(call: Call): Promise<Answer> {
  const { taskId } = readParams(call, TaskParams);
  const task = await call.deps.tasks.get(call.principal, taskId);
  return task.stage.phase === "settled"
    ? toPayload(task)
    : awaitResult(call, { request: call.id, task: taskId, of: "result" });
}

/** Any number may wait for one task. What it asks goes out on one of their streams, with its progress. */
export const awaitResult = (caller: Caller, resumable: Resumable): Conversation => ({
  stream: "when_slow",
  waits: true,
  async run(exchange) {
    const { deps, principal } = caller;
    const { task } = resumable;
    const { signal } = exchange;
    await primeStream(caller, exchange, resumable);
    const ended =
      (await carryTask(caller, exchange, task, { rank: exchange.streams ? 2 : 0, signal })) ??
      (await deps.tasks.settle(principal, task, { restAt: "settled", signal }));
    return toPayload(ended);
  },
});

/** The very result or error of the call; the result says which task it is of, beside what the tool said in `_meta`. */
function toPayload(task: TaskSnapshot): JsonText {
  if (task.stage.phase !== "settled") throw new Error("The task has not ended.");
  const { outcome } = task.stage;
  if (outcome.kind !== "cancelled") {
    const result = withObjectContent(resultOf(outcome));
    return JSON.stringify({ ...result, _meta: { ...result._meta, ...relatedTask(task.id) } });
  }
  // There is nothing to retrieve, and no code for that; the data tells it from a task that is not there.
  const data = { taskId: task.id, status: outcome.kind };
  throw new JsonRpcError(200, INVALID_PARAMS, "The task was cancelled, so it has no result.", { data });
}
