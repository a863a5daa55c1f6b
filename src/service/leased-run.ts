import type { Clock } from "../clock";
import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import { tellSession } from "./announce";
import type { Limits } from "./limits";
import { perform, type RunParts } from "./perform";
import type { Sessions } from "./sessions";
import { restarted } from "./setback";
import { RunAborted } from "./suspension";
import type { WorkAct, Worked } from "./work";

/** A store that does not answer is asked again after these, ms; together less than a lease. */
const RETRY_MS = [100, 400, 1_500, 5_000] as const;

export type LeasedRunParts = RunParts & {
  /** Tells the store of this one task; null when there is none. */
  readonly work: (act: WorkAct) => Promise<Worked | null>;
  readonly lease: {
    readonly id: string;
    /** Who runs it: for people. */
    readonly worker: string;
    /** How long each renewal lasts, ms. */
    readonly ms: number;
  };
  /** Tells a session that a task of its own asks something. */
  readonly asking: Sessions["asking"];
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
    const task = (): Task => this.#known();
    await perform({ task, emit: (event) => this.#emit(event) }, this.#controller, this.#parts);
    this.stop();
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

  async #emit(event: TaskEvent): Promise<void> {
    const lease = this.#parts.lease.id;
    const worked = await this.#tell(() => ({ kind: "emit", lease, event }), event.type === "progressed");
    if (event.type === "asked" && worked?.kind === "returned") void tellSession(this.#parts, worked.task);
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
