import type { TaskSnapshot } from "../../service/task-store";
import type { JsonObject } from "../../task/json";
import type { InputRequest } from "../../task/task";
import type { ListedTool } from "../legacy/revision";
import { errorOf } from "../outcome";
import { progressText } from "../progress-text";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** schema, Task. */
export type Task = {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string | undefined;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttl: number | null;
  readonly pollInterval: number;
};

/** Less would have clients spin. */
const MIN_POLL_INTERVAL_MS = 250;

export const toTask = (task: TaskSnapshot): Task => ({
  taskId: task.id,
  status: toStatus(task),
  statusMessage: statusMessageOf(task),
  createdAt: isoTime(task.createdAt),
  lastUpdatedAt: isoTime(task.updatedAt),
  ttl: task.ttlMs === null ? null : Math.round(task.ttlMs),
  pollInterval: Math.max(MIN_POLL_INTERVAL_MS, Math.round(task.pollIntervalMs)),
});

/** Nested, unlike in later revisions; with a line for the model, which goes on while the task does (tasks §Creating Tasks). */
export const toCreateTaskResult = (task: TaskSnapshot) => ({
  task: toTask(task),
  _meta: {
    "io.modelcontextprotocol/model-immediate-response": `The call of "${task.tool}" goes on as task ${task.id}; its result comes when it is done. Do not repeat the call.`,
  },
});

export function toStatus({ stage }: TaskSnapshot): TaskStatus {
  if (stage.phase !== "settled") return stage.phase === "submitted" ? "working" : stage.phase;
  switch (stage.outcome.kind) {
    case "result":
      // A tool error is a failure in this revision, though it has a result (tasks §Task Status).
      return stage.outcome.isError ? "failed" : "completed";
    case "error":
    case "rejected":
    case "expired":
      return "failed";
    case "cancelled":
      return "cancelled";
  }
}

/** With `execution`, which says how the tool may be called (tasks §Tool-Level Negotiation). */
export const toTool = ({ name, title, description, inputSchema, outputSchema, annotations, task }: ListedTool) => ({
  name,
  title,
  description,
  inputSchema,
  outputSchema: outputSchema?.["type"] === "object" ? outputSchema : undefined,
  annotations,
  execution: task && { taskSupport: task },
});

/** The shape is the newest revision's; a URL to open has a name here, for news of it (elicitation §URL Mode). */
export const toInputParams = ({ params }: InputRequest, elicitationId: string): JsonObject =>
  params["mode"] === "url" ? { ...params, elicitationId } : params;

function statusMessageOf({ stage, statusMessage, progress }: TaskSnapshot): string | undefined {
  if (statusMessage !== null) return statusMessage;
  if (stage.phase === "settled")
    return stage.outcome.kind === "cancelled" ? "The task was cancelled." : errorOf(stage.outcome)?.message;
  return progress === null ? undefined : progressText(progress);
}

const isoTime = (ms: number): string => new Date(ms).toISOString();
