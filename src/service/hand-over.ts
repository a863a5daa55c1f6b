import type { Clock } from "../clock";
import { mustOffer } from "../task/due";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { LogLevel } from "../tool/context";
import { attemptBackOff } from "./back-off";
import type { QueueCalls } from "./queue-offer";
import { withTimeout } from "./with-timeout";
import type { WorkAct } from "./work";
import type { WorkflowCalls } from "./workflow-calls";

/** Who carries out what does not run where it is kept. */
export type Elsewhere = {
  readonly queues: QueueCalls;
  /** Left out where the deployment binds none. */
  readonly workflows?: WorkflowCalls | undefined;
};

export type HandOverParts = Elsewhere & {
  readonly clock: Clock;
  readonly random: () => number;
  /** What became of it, and the task as it was handed over. */
  readonly tell: (act: WorkAct, handed: Task) => void;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
};

type HandedOver = Pick<Task, "id" | "owner" | "tool" | "runs" | "startedAt">;

/** Tells a task's queue or Workflow of it, and says what that means for the task. Rejects when it cannot be reached. */
export async function handOver(task: HandedOver, { queues, workflows }: Elsewhere): Promise<WorkAct> {
  if (task.runs.in !== "workflow") {
    await queues.offer(task);
    return { kind: "offered" };
  }
  const reason = workflows ? await workflows.wake(task) : unbound(task);
  return reason === null ? { kind: "offered" } : { kind: "abandoned", reason };
}

/** Says that the task has settled to whoever need not take it, or go on with it, any more. */
export async function callOff(task: HandedOver, { queues, workflows }: Elsewhere): Promise<void> {
  await (task.runs.in === "workflow" ? workflows?.end(task) : queues.withdraw(task));
}

/**
 * Whether somebody elsewhere may still be about to do something for a task that has settled. A Workflow that settled its
 * own task ends by itself.
 */
export function mayGoOn({ runs, stage }: Pick<Task, "runs" | "stage">, offered: boolean): boolean {
  if (stage.phase !== "settled") return false;
  const { kind } = stage.outcome;
  return runs.in === "workflow" ? kind === "cancelled" || kind === "expired" : runs.in === "queue" && offered;
}

/** Tells a task's queue or Workflow what it must know: at least once, in the alarm, never before it is durable. */
export class HandOver {
  readonly #parts: HandOverParts;
  #failures = 0;
  #notBefore = 0;
  /** On its way: it may arrive although nobody hears of it. */
  #handing: Promise<WorkAct> | null = null;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  async flush(task: Task): Promise<void> {
    const { clock, random, tell, log } = this.#parts;
    const now = clock();
    if (!mustOffer(task, now) || now < this.#notBefore) return;
    try {
      this.#handing = handOver(task, this.#parts);
      // The alarm that hands over has deadlines to see to as well.
      const act = await withTimeout(this.#handing);
      this.#failures = 0;
      tell(act, task);
    } catch (error) {
      this.#failures += 1;
      this.#notBefore = clock() + attemptBackOff(this.#failures, random);
      const where = task.runs.in === "workflow" ? "The engine of Workflows" : "A queue";
      log("warning", `${where} could not be reached.`, { task: task.id, error: String(error) });
    } finally {
      this.#handing = null;
    }
  }

  /** When it is tried again after nobody could be reached, Unix ms. */
  notBefore(task: Task): number {
    return mustOffer(task, this.#parts.clock()) ? this.#notBefore : 0;
  }

  settled(before: Task, after: Task): void {
    // It may change after its end too: who is told of it.
    if (before.stage.phase === "settled") return;
    if (!mayGoOn(after, before.offeredAt !== null || this.#handing !== null)) return;
    const arrived: Promise<unknown> = this.#handing ?? Promise.resolve();
    this.#parts.keepAlive(arrived.then(() => callOff(after, this.#parts)).catch(() => {}));
  }
}

const unbound = ({ tool }: HandedOver): string =>
  `The tool "${tool}" runs as a Workflow, and this deployment has none: wrangler.toml must bind TASK_WORKFLOW.`;
