import type { Exchange } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import type { JsonText } from "../../task/json";
import { canBeAsked } from "../../tool/asks";
import type { HelperTool } from "../helper-tools";
import type { Call } from "./call";
import { reportTo } from "./report";
import { toResult } from "./results";
import { openRounds } from "./rounds";
import type { CallToolParams } from "./schemas";
import { inputRequired } from "./tool-call";

/** A helper tool. Where all it can say is that a task asks something, a client that can be asked is: not its model. */
export async function callHelper(
  call: Call,
  params: CallToolParams,
  helper: HelperTool,
  exchange: Exchange,
): Promise<JsonText> {
  const { taskId, task: answers } = await openRounds(call, params);
  if (taskId !== null) await call.deps.tasks.answer(call.principal, taskId, answers);
  const { onProgress } = reportTo(exchange, params._meta, helper.name);
  const asking: TaskSnapshot[] = [];
  const result = await helper.call(params.arguments ?? {}, {
    signal: exchange.signal,
    onProgress,
    onAsking: (task) => asking.push(task),
  });
  for (const { id, openQuestions } of asking) {
    const requests = openQuestions.map(({ request }) => request);
    if (canBeAsked(call.capabilities, requests))
      return inputRequired(call, params, "task", openQuestions, { taskId: id });
  }
  return toResult("complete", result);
}
