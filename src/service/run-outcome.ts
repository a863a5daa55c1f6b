import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel } from "../tool/context";
import { mayContinue, type RegisteredTool, type Registry } from "../tool/registry";
import type { Ending } from "./ending";
import type { Limits } from "./limits";
import type { RunEnd } from "./run-tool";
import { failedAttempt } from "./setback";

export type OutcomeParts = {
  readonly registry: Registry;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
};

/** The tool that goes on with the task; or the event that ends it, where none can. */
export function toolFor(task: Task, parts: OutcomeParts): RegisteredTool | { readonly settles: TaskEvent } {
  const registered = parts.registry.get(task.tool);
  if (registered && mayContinue(registered.tool, task.toolVersion)) return registered;
  const why = registered
    ? "has changed and cannot go on with a task that an earlier version began"
    : "is no longer served here";
  return { settles: settled(faulty(`The tool "${task.tool}" ${why}.`), parts) };
}

/** The longest run of the tool, ms; in a Workflow its longest step. */
export const timeoutOf = ({ tool }: RegisteredTool, { limits }: OutcomeParts): number =>
  tool.timeoutMs ?? limits.timeoutMs;

/** What the end of a run means for its task, wherever the run went on; null when nobody wanted it any more. */
export function eventOf(end: RunEnd, task: Task, parts: OutcomeParts): TaskEvent | null {
  switch (end.kind) {
    case "suspended":
      return end.event;
    case "aborted": {
      if (end.cause !== "timeout") return null;
      const than = task.runs.in === "workflow" ? "in one step, or without one," : "between suspensions";
      const message = `The tool "${task.tool}" ran longer than it may ${than} and was stopped.`;
      return attemptFailed(faulty(message), task, parts);
    }
    case "ended":
      logFault(end.ending, task, parts);
      return end.ending.retry ? attemptFailed(end.ending, task, parts) : settled(end.ending, parts);
  }
}

/** Something of ours failed, not the tool: never `working` for ever because of it. */
export function broken(error: unknown, task: Task, parts: OutcomeParts): TaskEvent {
  parts.log("error", "A run ended badly.", { task: task.id, error: textOf(error) });
  return attemptFailed(faulty(`A run of the tool "${task.tool}" could not be finished.`), task, parts);
}

const settled = ({ outcome, statusMessage }: Ending, { clock, limits }: OutcomeParts): TaskEvent => ({
  type: "settled",
  at: clock(),
  outcome,
  statusMessage,
  minTtlMs: limits.minTtlMs,
});

function attemptFailed({ outcome, statusMessage }: Ending, task: Task, parts: OutcomeParts): TaskEvent {
  const { clock, limits, random, registry } = parts;
  const most = registry.get(task.tool)?.tool.maxAttempts ?? limits.maxAttempts;
  const failed = failedAttempt(task, outcome, statusMessage ?? "It failed.", { most, limits, at: clock(), random });
  return { ...failed, type: "attempt_failed" };
}

/** The text of an exception is for the operator and nobody else. */
function logFault({ fault }: Ending, { id, tool, attempts }: Task, { log }: OutcomeParts): void {
  if (fault === undefined) return;
  log("error", "The tool failed.", { task: id, tool, attempt: attempts + 1, error: textOf(fault) });
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** A failure of the tool's, not of the call's: worth another attempt where one is left. */
const faulty = (message: string): Ending => ({
  outcome: { kind: "error", error: { code: -32603, message } },
  statusMessage: message,
  retry: true,
});
