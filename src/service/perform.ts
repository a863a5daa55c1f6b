import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel, TaskContext } from "../tool/context";
import { mayContinue, type Registry } from "../tool/registry";
import type { RunHolder } from "./durable-run";
import { failed, type Ending } from "./ending";
import type { Limits } from "./limits";
import { RunTimer } from "./run-timer";
import { runTool, type RunEnd } from "./run-tool";
import { failedAttempt } from "./setback";
import { RunAborted } from "./suspension";
import { textOf } from "./thrown";

export type RunParts = {
  readonly registry: Registry;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fetch: TaskContext["fetch"];
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
  /** Carries out the work of a step, which takes so many ms at most, and ends as it does; left out, it is simply done. */
  readonly step?: <T>(key: string, limitMs: number, work: () => Promise<T>) => Promise<T>;
};

/** A Workflow in which no step goes on is laid to rest after five minutes. */
const LONGEST_BETWEEN_STEPS_MS = 240_000;

/** The longest run of the task's tool, ms; in a Workflow its longest step. */
export const timeoutOf = ({ tool }: Task, { registry, limits }: RunParts): number =>
  registry.get(tool)?.tool.timeoutMs ?? limits.timeoutMs;

/**
 * Runs a task's tool until it rests, and emits what that means for the task, wherever the run goes on. Rejects only where
 * `emit` does.
 */
export async function perform(
  { task, emit }: Pick<RunHolder, "task" | "emit">,
  controller: AbortController,
  parts: RunParts,
): Promise<void> {
  const tool = parts.registry.get(task().tool);
  if (!tool || !mayContinue(tool.tool, task().toolVersion)) {
    const why = tool
      ? "has changed and cannot go on with a task that an earlier version began"
      : "is no longer served here";
    return void (await emit(settled(faulty(`The tool "${task().tool}" ${why}.`), parts)));
  }
  const { step } = parts;
  const ms = timeoutOf(task(), parts);
  // Where a step has all the time of the run, and the platform ends what rests between two steps, that is told first.
  const betweenSteps = step ? Math.min(ms, LONGEST_BETWEEN_STEPS_MS) : ms;
  const timer = new RunTimer(() => controller.abort(new RunAborted("timeout")), betweenSteps);
  const timed: RunHolder["step"] = step && ((key, work) => timer.during(ms, () => step(key, ms, work)));
  try {
    const end = await runTool(tool, { ...parts, task, emit, step: timed }, controller.signal);
    const event = eventOf(end, task(), parts);
    if (event) await emit(event);
  } catch (error) {
    // Something of ours failed, not the tool: never `working` for ever because of it.
    parts.log("error", "A run ended badly.", { task: task().id, error: textOf(error) });
    await emit(attemptFailed(faulty(`A run of the tool "${task().tool}" could not be finished.`), task(), parts));
  } finally {
    timer.stop();
    // Whatever of the tool still goes on must see that nobody wants it any more.
    controller.abort(new RunAborted("settled"));
  }
}

/** What the end of a run means for its task; null when nobody wanted it any more. */
function eventOf(end: RunEnd, task: Task, parts: RunParts): TaskEvent | null {
  switch (end.kind) {
    case "suspended":
      return end.event;
    case "aborted": {
      if (end.cause !== "timeout") return null;
      const than = task.runs.in === "workflow" ? "in one step, or without one," : "between suspensions";
      const message = `The tool "${task.tool}" ran longer than it may ${than} and was stopped.`;
      return attemptFailed(faulty(message), task, parts);
    }
    case "ended": {
      const { fault, retry } = end.ending;
      const { id, tool, attempts } = task;
      if (fault !== undefined) {
        const attempt = attempts + 1;
        parts.log("error", "The tool failed.", { task: id, tool, attempt, error: textOf(fault) });
      }
      return retry ? attemptFailed(end.ending, task, parts) : settled(end.ending, parts);
    }
  }
}

const settled = ({ outcome, statusMessage }: Ending, { clock, limits }: RunParts): TaskEvent => ({
  type: "settled",
  at: clock(),
  outcome,
  statusMessage,
  minTtlMs: limits.minTtlMs,
});

function attemptFailed({ outcome, statusMessage }: Ending, task: Task, parts: RunParts): TaskEvent {
  const { clock, limits, random, registry } = parts;
  const most = registry.get(task.tool)?.tool.maxAttempts ?? limits.maxAttempts;
  const failed = failedAttempt(task, outcome, statusMessage ?? "It failed.", { most, limits, at: clock(), random });
  return { ...failed, type: "attempt_failed" };
}

/** A failure of the tool's, not of the call's: worth another attempt where one is left. */
const faulty = (message: string): Ending => failed(-32603, message, { retry: true });
