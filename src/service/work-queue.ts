import type { Owner } from "../task/task";

/** A task that waits for a worker. */
export type QueuedTask = { readonly id: string; readonly owner: Owner; readonly tool: string };

/** A task given out under a lease until then (Unix ms), if its task agrees. */
export type Picked = { readonly id: string; readonly lease: string; readonly until: number };

export type PickWish = {
  /** Names the claim, for its caller only: while what it was given holds, it is given the same again, and nothing else. */
  readonly key: string;
  /** 1 to 100. */
  readonly max: number;
  /** Unix ms. */
  readonly now: number;
  readonly until: number;
  /** Only tasks of these tools; null for all. */
  readonly tools: readonly string[] | null;
};

/**
 * One queue of tasks that workers claim. Exact: it is one object, so a task is picked by one claim. Fair: the owner that
 * was served longest ago comes first, one that never was before all, and within an owner the task that waits longest;
 * what belongs to nobody counts as one owner. It only proposes: the task itself says whether it may be claimed.
 */
export interface WorkQueue {
  /** By task id; a task that lies here already waits on in its place, and one that was picked waits again. */
  offer(task: QueuedTask, now: number): Promise<void>;
  withdraw(id: string): Promise<void>;
  /** What was picked and not agreed to by its `until` is picked again. */
  pick(wish: PickWish): Promise<readonly Picked[]>;
  /**
   * What the tasks said to the picks that are still in force. `held`: taken, until then at least. The others are gone,
   * and their owners not served. Either comes back only when its task offers itself again.
   */
  agreed(held: readonly Picked[], gone: readonly Picked[], now: number): Promise<void>;
  /** Yields when there may be something to pick: at once if there is. Ends when the signal aborts. */
  watch(signal: AbortSignal): AsyncIterable<unknown>;
}

/** The queues of a deployment, by name: 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`. */
export type WorkQueues = (name: string) => WorkQueue;
