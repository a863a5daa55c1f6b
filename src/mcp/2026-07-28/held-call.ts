import type { Exchange } from "../../json-rpc";
import { holdTask } from "../../service/bridge";
import type { JsonText } from "../../task/json";
import { canBeAsked } from "../../tool/asks";
import { toHandle } from "../handle-text";
import { resultOf } from "../outcome";
import { reportTo } from "./report";
import { toResult } from "./results";
import type { Rounds } from "./rounds";
import { inputRequired, startTask, type ToolCall } from "./tool-call";

/**
 * A client without tasks waits for one: it gets the result if that comes soon, else a handle for the helper tools. In a
 * later round `requestState` names the task, and nothing is started.
 */
export async function holdCall(toolCall: ToolCall, exchange: Exchange, prepared: unknown): Promise<JsonText> {
  const { call, tool, idempotencyKey, rounds } = toolCall;
  const started = rounds.taskId === null ? await startTask(toolCall, prepared) : null;
  const id = started?.task.id ?? (rounds.taskId as string);
  // Answers that come before the task are its own, unless something else may have asked for them.
  const early = started?.existing === false && tool.tool.prepare !== undefined;
  try {
    const answer = await hold(toolCall, exchange, id, early ? {} : rounds.task);
    exchange.signal.throwIfAborted();
    return answer;
  } catch (thrown) {
    // Nobody has been given a way to find the task, so its work ends with the request (cancellation §Transports).
    const lost = idempotencyKey === undefined && rounds.taskId === null;
    if (exchange.signal.aborted && lost) await call.deps.tasks.cancel(call.principal, id);
    throw thrown;
  }
}

async function hold(
  { call, params, tool }: ToolCall,
  exchange: Exchange,
  id: string,
  answers: Rounds["task"],
): Promise<JsonText> {
  const { principal, capabilities, deps } = call;
  const { onProgress } = reportTo(exchange, params._meta, tool.tool.name);
  const end = Date.now() + deps.config.inlineWaitMs;
  for (;;) {
    const waitMs = end - Date.now();
    const task = await holdTask(deps.tasks, principal, id, { waitMs, signal: exchange.signal, onProgress });
    const asks = task.stage.phase === "input_required";
    if (task.stage.phase === "settled") return toResult("complete", resultOf(task.stage.outcome));
    const { openQuestions } = task;
    if (asks && openQuestions.some(({ key }) => Object.hasOwn(answers, key))) {
      // No key is open again once it was answered, well or badly: this comes to an end.
      await deps.tasks.answer(principal, id, answers);
      continue;
    }
    const requests = openQuestions.map(({ request }) => request);
    return asks && canBeAsked(capabilities, requests)
      ? inputRequired(call, params, "task", openQuestions, { taskId: id })
      : toResult("complete", toHandle(task, tool.outputSchema !== undefined));
  }
}
