import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel, TaskContext } from "../tool/context";
import { factsOf } from "./audit";
import { broken, eventOf, timeoutOf, toolFor, type OutcomeParts } from "./run-outcome";
import { runTool, type RunEnd } from "./run-tool";
import { RunAborted } from "./suspension";

export type RunnerParts = OutcomeParts & {
  readonly fetch: TaskContext["fetch"];
  /** Keeps the process up for the work of a run. */
  readonly keepAlive: (work: Promise<unknown>) => void;
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

/** Runs the task's tool in the process that holds the task, one run at a time; running it yields the next event. */
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
    const { limits, clock, keepAlive, log, dispatch } = this.#parts;
    const tool = toolFor(task, this.#parts);
    if ("settles" in tool) return void dispatch(tool.settles);
    const controller = new AbortController();
    const timeoutMs = timeoutOf(tool, this.#parts);
    const timer = setTimeout(() => controller.abort(new RunAborted("timeout")), timeoutMs);
    const run: Run = { controller, timer, until: clock() + timeoutMs };
    this.#run = run;
    const holder = {
      task: this.#parts.task,
      // What a run says after it was stopped is dropped.
      emit: (event: TaskEvent) => this.#run === run && dispatch(event),
      clock,
      limits,
      fetch: this.#parts.fetch,
      log: (level: LogLevel, message: string, data?: JsonObject) => log(level, message, { ...data, ...factsOf(task) }),
    };
    keepAlive(
      runTool(tool, holder, controller.signal)
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
    const event = eventOf(end, this.#parts.task(), this.#parts);
    if (event) this.#parts.dispatch(event);
    this.#over(run);
    await this.#parts.ended();
  }

  /** Whatever of the tool still goes on must see that nobody wants it any more. */
  #over(run: Run): void {
    clearTimeout(run.timer);
    run.controller.abort(new RunAborted("settled"));
    if (this.#run === run) this.#run = null;
  }

  /** The end of a run could not be stored, or something of ours failed. */
  async #broken(run: Run, error: unknown): Promise<void> {
    const { task, dispatch, ended } = this.#parts;
    const event = broken(error, task(), this.#parts);
    try {
      if (this.#run === run) dispatch(event);
    } catch {
      // Storage refuses: the watchdog finds a run that nobody holds, and begins another.
    }
    this.#over(run);
    await ended();
  }
}
