import type { Clock } from "../clock";
import type { Task } from "../task/task";
import type { WorkQueue, WorkQueues } from "./work-queue";

type Queueable = Pick<Task, "id" | "owner" | "tool" | "runs">;

/** How a task gets into the queue from which workers claim, and out of it. */
export type QueueCalls = {
  /** Idempotent by task id; rejects when the queue cannot be reached. */
  readonly offer: (task: Queueable) => Promise<void>;
  /** Spares a worker the way to a task that is settled. Whether it works does not matter: claims ask the task. */
  readonly withdraw: (task: Queueable) => Promise<void>;
};

/** The calls of one task, over the deployment's queues. */
export function queueCalls(queues: WorkQueues, clock: Clock): QueueCalls {
  const queueOf = ({ runs }: Queueable): WorkQueue | null => (runs.in === "queue" ? queues(runs.queue) : null);
  return {
    offer: async (task) => queueOf(task)?.offer({ id: task.id, owner: task.owner, tool: task.tool }, clock()),
    withdraw: async (task) => queueOf(task)?.withdraw(task.id),
  };
}
