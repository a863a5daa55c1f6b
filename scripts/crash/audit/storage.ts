import type { LogEntry, Task } from "../../../src/task/task.ts";

/** A task as its object keeps it, its long texts apart. */
export type StoredTask = {
  readonly id: string;
  readonly facts: Pick<Task, "id" | "owner" | "tool" | "createdAt" | "ttlMs" | "version" | "stage" | "questions">;
  /** Slot → its rows: a text that is not long has one. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly log: readonly LogEntry[];
  /** When the platform shall wake the object, Unix ms. */
  readonly alarm: number | null;
};

export type IndexRow = {
  readonly id: string;
  readonly phase: string;
  readonly outcome: string | null;
  readonly version: number;
  readonly due: number | null;
  /** Set where the row is not a task's. */
  readonly mark: string | null;
  /** Of a record. */
  readonly status?: string | null;
};

export type StoredIndex = {
  readonly name: string;
  readonly rows: readonly IndexRow[];
  readonly tally: { readonly stored: number; readonly live: number };
};

/** A record as its object keeps it. `version` is null from its removal until its index knows of that. */
export type RecordOnDisk = {
  readonly namespace: string;
  /** As its clients know it. */
  readonly id: string;
  readonly version: number | null;
  readonly status: string | null;
  readonly expiresAt: number | null;
  /** The index that has its row, and by which mark. */
  readonly index: string;
  readonly mark: string;
  /** Version → the document as it was then, as JSON: the present one, and the kept saves. */
  readonly documents?: ReadonlyMap<number, string>;
};

/** What the engine of Workflows has of one of them. */
export type StoredWorkflow = {
  /** The task that it was made for. */
  readonly task: string;
  /** How it ended, each time that it was noted. */
  readonly ends: readonly WorkflowEnd[];
  /** What the engine says of a failure. */
  readonly error: string | null;
};

export type WorkflowEnd = "complete" | "errored" | "terminated";

/** The tools that were declared over the store API. */
export type StoredTools = {
  /** Name → its declaration, as JSON. */
  readonly declared: ReadonlyMap<string, string>;
  /** How many there are by the counter that the cap goes by. */
  readonly counted: number;
};

export type Storage = {
  readonly tasks: ReadonlyMap<string, StoredTask>;
  /** Objects of tasks that hold something, but no task. */
  readonly remains: readonly string[];
  readonly indexes: readonly StoredIndex[];
  readonly records: readonly RecordOnDisk[];
  /** The tasks that queues have rows of. */
  readonly queued: readonly { readonly queue: string; readonly id: string }[];
  /** Name of an index → when it is due. */
  readonly directory: ReadonlyMap<string, number>;
  /** Left out where no Workflow ever ran, and where no tool was ever declared. */
  readonly workflows?: readonly StoredWorkflow[];
  readonly tools?: StoredTools;
};

/** The one text of a slot, or what its rows make together. */
export const textOf = ({ values }: StoredTask, ...slot: readonly string[]): string | null =>
  values.get(JSON.stringify(slot))?.join("") ?? null;

/** What each step of a task has stored, as JSON, row by row. */
export const stepsOf = ({ values }: StoredTask): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...values].flatMap(([slot, rows]) => {
      const [kind, key] = JSON.parse(slot) as [string, string];
      return kind === "step" ? [[key, rows] as const] : [];
    }),
  );
