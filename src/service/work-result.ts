import { TaskError } from "../task/errors";
import type { JsonObject, JsonText } from "../task/json";
import type { Outcome, RpcError, Task } from "../task/task";
import { compileJsonSchema } from "../tool/json-schema";
import { toCallToolResult } from "../tool/result";
import { resultEnding, type Ending } from "./ending";

/**
 * What a worker's result makes of its task. Throws where it is none: then nothing has happened, and the worker may
 * still say something else.
 */
export function endingOf(task: Task, result: JsonText, limitBytes: number): Ending {
  const output = task.runs.in === "queue" ? task.runs.output : null;
  const schema = output === null ? undefined : compileJsonSchema(JSON.parse(output) as JsonObject, "The tool's output");
  const checked = toCallToolResult(parsed(result), schema);
  if (!checked.ok) throw new TaskError("invalid", `The result is not one of "${task.tool}": ${checked.message}`);
  return resultEnding(checked.value, limitBytes);
}

/** Whether a worker that settled its task with this result tells it again. */
export function isSameResult(task: Task, outcome: Outcome, result: JsonText): boolean {
  try {
    const again = endingOf(task, result, Infinity).outcome;
    return outcome.kind === "result" && again.kind === "result" && again.result === outcome.result;
  } catch {
    return false;
  }
}

export const isSameError = (outcome: Outcome, { code, message, data }: RpcError): boolean =>
  outcome.kind === "error" &&
  outcome.error.code === code &&
  outcome.error.message === message &&
  outcome.error.data === data;

function parsed(text: JsonText): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new TaskError("invalid", "The result is not JSON.");
  }
}
