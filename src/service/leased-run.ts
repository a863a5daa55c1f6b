import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel, TaskContext } from "../tool/context";
import { factsOf } from "./audit";
import type { RegisteredTool } from "../tool/registry";
import type { RunHolder } from "./durable-run";
import type { Limits } from "./limits";
import { broken, eventOf, timeoutOf, toolFor, type OutcomeParts } from "./run-outcome";
import { RunTimer, type RunTimes } from "./run-timer";
import { runTool } from "./run-tool";
import { restarted } from "./setback";
import { RunAborted } from "./suspension";
import type { WorkAct, Worked } from "./work";

/** A store that does not answer is asked again after these, ms; together less than a lease. */
const RETRY_MS = [100, 400, 1_500, 5_000] as const;

/** A Workflow in which no step goes on is laid to rest after five minutes. */
const LONGEST_BETWEEN_STEPS_MS = 240_000;

export type LeasedRunParts = OutcomeParts & {
  /** Tells the store of this one task; null when there is none. */
  readonly work: (act: WorkAct) => Promise<Worked | null>;
  readonly lease: {
    readonly id: string;
    /** Who runs it: for people. */
    readonly worker: string;
    /** How long each renewal lasts, ms. */
    readonly ms: number;
  };
  readonly fetch: TaskContext["fetch"];
  /** Carries out the work of a step, which takes so many ms at most, and ends as it does; left out, it is simply done. */
  readonly step?: <T>(key: string, limitMs: number, work: () => Promise<T>) => Promise<T>;
  /** A task that belongs to a session asks something. */
  readonly asking: (task: Task) => Promise<unknown>;
};

/**
 * One run of a task's tool, away from where the task is kept: under a lease, and every event is stored there before the
 * run builds on it. Should this process die, the lease lapses and another run begins.
 */
export class LeasedRun {
  readonly #parts: LeasedRunParts;
  readonly #controller = new AbortController();
  #task: Task | null = null;
  #gone = false;
  /** Nothing that this run says counts any more. */
  #lost = false;
  /** Acts go one after the other, in the order they came. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: LeasedRunParts) {
    this.#parts = parts;
  }

  /** The task as last heard; null when there is none. */
  task(): Task | null {
    return this.#gone ? null : this.#task;
  }

  /** Takes the task, and says whether it could be had. Rejects when the store cannot be reached. */
  async claim(): Promise<boolean> {
    const { id, worker, ms } = this.#parts.lease;
    const lease = { id, worker, until: this.#parts.clock() + ms };
    const worked = await patiently(() => this.#parts.work({ kind: "claim", lease }));
    this.#hear(worked);
    return worked?.kind === "held";
  }

  /** Runs what was claimed until it rests: settled, suspended, failed, or no longer wanted. Never rejects. */
  async perform(): Promise<void> {
    const tool = toolFor(this.#known(), this.#parts);
    if ("settles" in tool) return void (await this.#emit(tool.settles));
    const { signal } = this.#controller;
    const times = runTimes(tool, this.#parts);
    const timer = new RunTimer(times, () => this.#controller.abort(new RunAborted("timeout")));
    try {
      const end = await runTool(tool, this.#holder(times, timer), signal);
      const event = this.#lost ? null : eventOf(end, this.#known(), this.#parts);
      if (event) await this.#emit(event);
    } catch (error) {
      if (!this.#lost) await this.#emit(broken(error, this.#known(), this.#parts));
    } finally {
      timer.stop();
      // Whatever of the tool still goes on must see that nobody wants it any more.
      this.stop();
    }
  }

  /** From now on nothing that this run does counts. */
  stop(): void {
    this.#lost = true;
    this.#controller.abort(new RunAborted("settled"));
  }

  /** Keeps the lease. What it hears of a cancel stops the run. */
  async heartbeat(): Promise<void> {
    const { clock, lease } = this.#parts;
    await this.#tell(() => ({ kind: "heartbeat", lease: lease.id, until: clock() + lease.ms }), true);
  }

  #holder(times: RunTimes, timer: RunTimer): RunHolder {
    const { clock, limits, fetch, log, step } = this.#parts;
    const facts = factsOf(this.#known());
    return {
      task: () => this.#known(),
      emit: async (event: TaskEvent) => !this.#controller.signal.aborted && this.#emit(event),
      clock,
      limits,
      fetch,
      log: (level: LogLevel, message: string, data?: JsonObject) => log(level, message, { ...data, ...facts }),
      step: step && ((key, work) => timer.during(() => step(key, times.step, work))),
    };
  }

  /** Whether it was stored. */
  async #emit(event: TaskEvent): Promise<boolean> {
    const lease = this.#parts.lease.id;
    const worked = await this.#tell(() => ({ kind: "emit", lease, event }), event.type === "progressed");
    if (event.type === "asked" && worked?.kind === "returned") this.#announce(worked.task);
    return !this.#lost && worked !== null;
  }

  /** The act is made when its turn comes: a lease is renewed from then on. `brief`: the answer lacks the task's texts. */
  #tell(act: () => WorkAct, brief = false): Promise<Worked | null> {
    const told = this.#last.then(async () => {
      if (this.#lost) return null;
      try {
        const worked = await patiently(() => this.#parts.work(act()));
        this.#hear(brief ? withTexts(worked, this.#known()) : worked);
        return worked;
      } catch (error) {
        // What could not be stored has not happened. The lease lapses, and the next run does it.
        this.#parts.log("error", "A run could not reach its task.", { task: this.#known().id, error: String(error) });
        this.stop();
        return null;
      }
    });
    this.#last = told;
    return told;
  }

  #hear(worked: Worked | null): void {
    if (worked === null) this.#gone = true;
    else if (worked.kind !== "refused") this.#task = worked.task;
    if (worked === null || worked.kind === "lost" || worked.kind === "cancelled") this.stop();
  }

  /** For people: an anonymous caller has no feed of its tasks, so its session is told where the question is. */
  #announce(task: Task): void {
    if (task.owner !== null || !task.client.session) return;
    const failed = () => this.#parts.log("warning", "A session could not be told of a question.", { task: task.id });
    this.#parts.asking(task).catch(failed);
  }

  #known(): Task {
    if (!this.#task) throw new Error("A run begins with a claim.");
    return this.#task;
  }
}

/** Says of a run under this lease that its process died, where that is known before the lease lapses. */
export async function cutOff(lease: string, work: LeasedRunParts["work"], limits: Limits, clock: Clock): Promise<void> {
  const found = await work({ kind: "tend" });
  if (found?.kind !== "held" || found.task.lease?.id !== lease) return;
  await work({ kind: "emit", lease, event: restarted(found.task, limits, clock()) });
}

/** The run knows them: nobody else adds a step while it goes on. */
function withTexts(worked: Worked | null, { arguments: args, prepared, extras, steps }: Task): Worked | null {
  if (worked === null || worked.kind === "refused") return worked;
  return { ...worked, task: { ...worked.task, arguments: args, prepared, extras, steps } };
}

/** Where a step has all the time of the run, and the platform ends what rests between two steps, that is told first. */
function runTimes(tool: RegisteredTool, parts: LeasedRunParts): RunTimes {
  const ms = timeoutOf(tool, parts);
  return { step: ms, other: parts.step ? Math.min(ms, LONGEST_BETWEEN_STEPS_MS) : ms };
}

/** Told twice, an act changes nothing the second time. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (const ms of RETRY_MS) {
    try {
      return await call();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }
  return call();
}
