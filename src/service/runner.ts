import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel, TaskContext } from "../tool/context";
import { mayContinue, type Registry } from "../tool/registry";
import { factsOf } from "./audit";
import { attemptBackOff } from "./back-off";
import type { Ending } from "./ending";
import type { Limits } from "./limits";
import { runTool, type RunEnd } from "./run-tool";
import { RunAborted } from "./suspension";

export type RunnerParts = {
  readonly registry: Registry;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: () => number;
  readonly fetch: TaskContext["fetch"];
  /** Keeps the process up for the work of a run. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
  /** The task as it stands. */
  readonly task: () => Task;
  readonly dispatch: (event: TaskEvent) => boolean;
  /** A run has ended and its last event is stored. */
  readonly ended: () => Promise<void>;
};

type Run = {
  readonly controller: AbortController;
  readonly timer: ReturnType<typeof setTimeout>;
  readonly until: number;
};

/** Runs the task's tool in this process, one run at a time; running it yields the next event. */
export class Runner {
  readonly #parts: RunnerParts;
  #run: Run | null = null;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** When the run must have ended, Unix ms; null when none is going on. */
  until(): number | null {
    return this.#run?.until ?? null;
  }

  start(task: Task): void {
    const { registry, limits, clock, keepAlive, log } = this.#parts;
    const registered = registry.get(task.tool);
    if (!registered || !mayContinue(registered.tool, task.toolVersion)) {
      const why = registered
        ? "has changed and cannot go on with a task that an earlier version began"
        : "is no longer served here";
      return this.#settle(faulty(`The tool "${task.tool}" ${why}.`));
    }
    const controller = new AbortController();
    const timeoutMs = registered.tool.timeoutMs ?? limits.timeoutMs;
    const timer = setTimeout(() => controller.abort(new RunAborted("timeout")), timeoutMs);
    const run: Run = { controller, timer, until: clock() + timeoutMs };
    this.#run = run;
    const holder = {
      task: this.#parts.task,
      // What a run says after it was stopped is dropped.
      emit: (event: TaskEvent) => this.#run === run && this.#parts.dispatch(event),
      clock,
      limits,
      fetch: this.#parts.fetch,
      log: (level: LogLevel, message: string, data?: JsonObject) => log(level, message, { ...data, ...factsOf(task) }),
    };
    keepAlive(
      runTool(registered, holder, controller.signal)
        .then((end) => this.#ended(run, end))
        .catch((error: unknown) => this.#broken(run, error)),
    );
  }

  stop(): void {
    if (!this.#run) return;
    clearTimeout(this.#run.timer);
    this.#run.controller.abort(new RunAborted("settled"));
    this.#run = null;
  }

  async #ended(run: Run, end: RunEnd): Promise<void> {
    clearTimeout(run.timer);
    if (this.#run !== run) return;
    switch (end.kind) {
      case "suspended":
        this.#parts.dispatch(end.event);
        break;
      case "aborted":
        if (end.cause === "timeout") {
          this.#attemptFailed(
            faulty(`The tool "${this.#parts.task().tool}" ran longer than it may between suspensions and was stopped.`),
          );
        }
        break;
      case "ended":
        this.#logFault(end.ending);
        if (end.ending.retry) this.#attemptFailed(end.ending);
        else this.#settle(end.ending);
        break;
    }
    this.#over(run);
    await this.#parts.ended();
  }

  /** Whatever of the tool still goes on must see that nobody wants it any more. */
  #over(run: Run): void {
    clearTimeout(run.timer);
    run.controller.abort(new RunAborted("settled"));
    if (this.#run === run) this.#run = null;
  }

  /** The end of a run could not be stored, or something of ours failed: never `working` for ever because of it. */
  async #broken(run: Run, error: unknown): Promise<void> {
    const { task, log, ended } = this.#parts;
    log("error", "A run ended badly.", {
      task: task().id,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    try {
      if (this.#run === run) this.#attemptFailed(faulty(`A run of the tool "${task().tool}" could not be finished.`));
    } catch {
      // Storage refuses: the watchdog finds a run that nobody holds, and begins another.
    }
    this.#over(run);
    await ended();
  }

  #settle({ outcome, statusMessage }: Ending): void {
    const { dispatch, clock, limits } = this.#parts;
    dispatch({ type: "settled", at: clock(), outcome, statusMessage, minTtlMs: limits.minTtlMs });
  }

  #attemptFailed({ outcome, statusMessage }: Ending): void {
    const { dispatch, clock, limits, random, registry, task } = this.#parts;
    const { attempts, tool } = task();
    const most = registry.get(tool)?.tool.maxAttempts ?? limits.maxAttempts;
    const at = clock();
    const reason = statusMessage ?? "It failed.";
    dispatch({
      type: "attempt_failed",
      at,
      retryAt: attempts + 1 >= most ? null : at + attemptBackOff(attempts, random),
      statusMessage: most > 1 ? `Attempt ${attempts + 1} of ${most}: ${reason}` : reason,
      giveUp: outcome,
      minTtlMs: limits.minTtlMs,
    });
  }

  /** The text of an exception is for the operator and nobody else. */
  #logFault({ fault }: Ending): void {
    if (fault === undefined) return;
    const { id, tool, attempts } = this.#parts.task();
    const error = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    this.#parts.log("error", "The tool failed.", { task: id, tool, attempt: attempts + 1, error });
  }
}

/** A failure of the tool's, not of the call's: worth another attempt where one is left. */
const faulty = (message: string): Ending => ({
  outcome: { kind: "error", error: { code: -32603, message } },
  statusMessage: message,
  retry: true,
});
