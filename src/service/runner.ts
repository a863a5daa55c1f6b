import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import { perform, timeoutOf, type RunParts } from "./perform";
import { RunAborted } from "./suspension";

export type RunnerParts = RunParts & {
  /** Keeps the process up for the work of a run. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  /** The task as it stands. */
  readonly task: () => Task;
  readonly dispatch: (event: TaskEvent) => boolean;
  /** A run has ended and its last event is stored. */
  readonly ended: () => Promise<void>;
};

type Run = { readonly controller: AbortController; readonly until: number };

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

  start(): void {
    const { task, clock, keepAlive, dispatch, ended } = this.#parts;
    const controller = new AbortController();
    const run: Run = { controller, until: clock() + timeoutOf(task(), this.#parts) };
    this.#run = run;
    /** Whether its own last word ended it. */
    let isDone = false;
    // What a run says after it was stopped is dropped.
    const emit = (event: TaskEvent): boolean => {
      if (this.#run !== run) return false;
      try {
        return dispatch(event);
      } finally {
        isDone = this.#run !== run;
      }
    };
    keepAlive(
      perform({ task, emit }, controller, this.#parts)
        // Storage refuses: the watchdog finds a run that nobody holds, and begins another.
        .catch(() => {})
        .then(() => {
          if (this.#run === run) this.#run = null;
          // Of one that was stopped everything has been said.
          else if (!isDone) return;
          return ended();
        }),
    );
  }

  stop(): void {
    this.#run?.controller.abort(new RunAborted("settled"));
    this.#run = null;
  }
}
