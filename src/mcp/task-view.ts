import type { TaskSnapshot } from "../service/task-store";
import type { Outcome, Phase } from "../task/task";
import { errorOf } from "./outcome";
import { progressText } from "./progress-text";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The tasks extension's `Task` (MCP 2026-07-28 tasks §Tasks); that of 2025-11-25 is made of it. */
export type Task = {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string | undefined;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
};

/** Less would have clients spin; absent, the official client falls back to an interval of its own. */
const MIN_POLL_INTERVAL_MS = 250;

export const toTask = (task: TaskSnapshot): Task => ({
  taskId: task.id,
  status: statusOf(task.stage.phase, task.stage.phase === "settled" ? task.stage.outcome.kind : null),
  statusMessage: statusMessageOf(task),
  createdAt: isoTime(task.createdAt),
  lastUpdatedAt: isoTime(task.updatedAt),
  ttlMs: task.ttlMs === null ? null : Math.round(task.ttlMs),
  pollIntervalMs: Math.max(MIN_POLL_INTERVAL_MS, Math.round(task.pollIntervalMs)),
});

/** A tool's error is a result too: "failed" means a JSON-RPC error (MCP 2026-07-28 tasks §Task Execution Errors). */
export function statusOf(phase: Phase, outcome: Outcome["kind"] | null): TaskStatus {
  if (phase === "submitted") return "working";
  if (phase !== "settled") return phase;
  if (outcome === "result") return "completed";
  return outcome === "cancelled" ? outcome : "failed";
}

/** The one channel a task has for how far it is where progress is not told of (tasks §Task Status Notifications). */
function statusMessageOf({ stage, statusMessage, progress }: TaskSnapshot): string | undefined {
  if (statusMessage !== null) return statusMessage;
  if (stage.phase === "settled") return errorOf(stage.outcome)?.message;
  return progress === null ? undefined : progressText(progress);
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();
