import type { TaskSnapshot } from "../../service/task-store";
import type { JsonObject } from "../../task/json";
import type { InputRequest } from "../../task/task";
import { toTool as toPlainTool } from "../legacy/object-output";
import type { ListedTool } from "../listed-tools";
import { toTask as toNewestTask, type Task as NewestTask } from "../task-view";

/** schema, Task. */
export type Task = Omit<NewestTask, "ttlMs" | "pollIntervalMs"> & {
  readonly ttl: number | null;
  readonly pollInterval: number;
};

export function toTask(task: TaskSnapshot): Task {
  const { ttlMs: ttl, pollIntervalMs: pollInterval, ...facts } = toNewestTask(task);
  const outcome = task.stage.phase === "settled" ? task.stage.outcome : null;
  const shared = { ...facts, ttl, pollInterval };
  // A tool error is a failure in this revision, though it has a result (tasks §Task Status).
  if (outcome?.kind === "result" && outcome.isError) return { ...shared, status: "failed" };
  if (outcome?.kind !== "cancelled") return shared;
  return { ...shared, statusMessage: facts.statusMessage ?? "The task was cancelled." };
}

/** Nested, unlike in later revisions; with a line for the model, which goes on while the task does (tasks §Creating Tasks). */
export const toCreateTaskResult = (task: TaskSnapshot) => ({
  task: toTask(task),
  _meta: {
    "io.modelcontextprotocol/model-immediate-response": `The call of "${task.tool}" goes on as task ${task.id}; its result comes when it is done. Do not repeat the call.`,
  },
});

/** With `execution`, which says how the tool may be called (tasks §Tool-Level Negotiation). */
export const toTool = (tool: ListedTool) => ({
  ...toPlainTool(tool),
  execution: tool.task && { taskSupport: tool.task },
});

/** The shape is the newest revision's; a URL to open has a name here, for news of it (elicitation §URL Mode). */
export const toInputParams = ({ params }: InputRequest, elicitationId: string): JsonObject =>
  params["mode"] === "url" ? { ...params, elicitationId } : params;
