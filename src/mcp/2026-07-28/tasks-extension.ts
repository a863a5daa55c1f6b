import { TaskError } from "../../task/errors";
import { isObject, type JsonObject } from "../../task/json";

const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Exactly {}: the official client takes a value with settings for another extension (tasks §Capability Negotiation). */
export const tasksCapability: JsonObject = { [TASKS_EXTENSION]: {} };

/** Whether this request may be answered with tasks. A client may put settings of its own into the value. */
export function tasksUsable(capabilities: JsonObject): boolean {
  const extensions = capabilities["extensions"];
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** Before any look-up, so that nothing about the task can be told from the refusal (tasks §Protocol Errors). */
export function requireTasks(capabilities: JsonObject, what: string): void {
  if (tasksUsable(capabilities)) return;
  const message = `${what} needs the client to declare the extension ${TASKS_EXTENSION} in this request's client capabilities.`;
  throw new TaskError("task_required", message, { requiredCapabilities: { extensions: tasksCapability } });
}
