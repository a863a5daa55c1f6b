import type { LogEntry, PushTarget, Task } from "../task/task";

/** One push notification as it goes out. */
export type Letter = {
  /** Of the log entry it tells. Several letters may tell the same one. */
  readonly seq: number;
  readonly body: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What a push target is to be told of these entries, in their order; of many there is nothing to tell. */
export type Letters = (task: Task, entries: readonly LogEntry[], target: PushTarget) => Promise<readonly Letter[]>;
