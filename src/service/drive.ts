import type { Clock } from "../clock";
import { mayStart, mustOffer } from "../task/due";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { LogLevel } from "../tool/context";
import { callOff, handOver, mayGoOn, type Elsewhere } from "./hand-over";
import type { PassiveTaskStore } from "./task-store";
import { withTimeout } from "./with-timeout";

/** So many tasks are set going at a time. */
const AT_ONCE = 6;

/** Looking at a task, waking its runner or telling its queue, and noting that: at most so many calls. */
const CALLS_PER_TASK = 3;

/** What has to be known of a task to set it going; a snapshot has it. */
export type Driven = Pick<Task, "id" | "owner" | "tool" | "runs" | "stage" | "startedAt" | "offeredAt" | "lease">;

export type DriveParts = Elsewhere & {
  readonly store: Pick<PassiveTaskStore, "due" | "work">;
  /** Wakes the runner of the task: it takes the task under a lease, if it may run. */
  readonly wake: (id: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
};

export type RedriveReport = {
  readonly due: number;
  readonly driven: number;
  readonly failures: number;
  /** False when the budget ended first; the next run goes on. */
  readonly finished: boolean;
};

/**
 * Who sets the tasks of a passive store going. The service calls `wake` once a task is stored, and once it was told
 * something that changed it; the cron calls `redrive` for whatever was missed: a lost wake, a lapsed lease, a deadline.
 */
export class Drive {
  readonly #parts: DriveParts;

  constructor(parts: DriveParts) {
    this.#parts = parts;
  }

  /** Never rejects: the task is durable, and what fails here is left to the cron. */
  async wake(task: Driven): Promise<void> {
    try {
      await withTimeout(this.#drive(task));
    } catch (error) {
      this.#failed(task.id, error);
    }
  }

  /** Within so many calls. */
  async redrive(budget: number): Promise<RedriveReport> {
    const { store, clock } = this.#parts;
    const most = Math.max(1, Math.floor((budget - 1) / CALLS_PER_TASK));
    const ids = await store.due(clock(), most);
    let driven = 0;
    let failures = 0;
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const some = ids.slice(at, at + AT_ONCE);
      const done = await Promise.allSettled(some.map((id) => withTimeout(this.#tend(id))));
      driven += done.filter((one) => one.status === "fulfilled" && one.value).length;
      for (const [n, one] of done.entries()) {
        if (one.status === "fulfilled") continue;
        failures += 1;
        this.#failed(some[n] as string, one.reason);
      }
    }
    return { due: ids.length, driven, failures, finished: ids.length < most };
  }

  async #tend(id: string): Promise<boolean> {
    const worked = await this.#parts.store.work(id, { kind: "tend" });
    return worked !== null && worked.kind !== "refused" && this.#drive(worked.task);
  }

  /** Whether there was something to set going. */
  async #drive(task: Driven): Promise<boolean> {
    const { store, wake, clock } = this.#parts;
    const settled = task.stage.phase === "settled";
    if (task.runs.in !== "object") {
      if (mayGoOn(task, task.offeredAt !== null)) await callOff(task, this.#parts);
      if (!mustOffer(task, clock())) return false;
      await store.work(task.id, await handOver(task, this.#parts));
      return true;
    }
    // A runner that is at it learns of the end at once, and not by its next heartbeat.
    if (!settled && !mayStart(task, clock())) return false;
    await wake(task.id);
    return !settled;
  }

  #failed(task: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#parts.log("warning", "A task could not be set going; the cron tries again.", { task, error: reason });
  }
}
