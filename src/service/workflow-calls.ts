import type { Task } from "../task/task";

/** The Workflows of a deployment, as a task sees them: it has one of its own, named by its id. */
export type WorkflowCalls = {
  /**
   * Sees to it that the task's Workflow goes on: makes it where there is none, and wakes it where it waits. Null, or a
   * sentence that says why it never will. Idempotent; rejects when the engine cannot be reached.
   */
  readonly wake: (task: Pick<Task, "id" | "startedAt">) => Promise<string | null>;
  /** Spares the Workflow of a task that was ended its next turn. Whether it works does not matter: it would be refused. */
  readonly end: (task: Pick<Task, "id">) => Promise<void>;
};
