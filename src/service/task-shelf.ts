import type { LogEntry, Task } from "../task/task";

/** Entries kept per task. A cursor older than the oldest kept one starts from a snapshot instead. */
export const LOG_LIMIT = 1000;

/** Where one task's bytes lie: the little a task host needs from a platform. All of it synchronous but `clear`. */
export interface TaskShelf {
  /** Null when there is no task; looking creates nothing. */
  load(): Task | null;
  /**
   * One atomic commit: the record, its log entry (null: nobody sees the change) and the alarm (Unix ms; null for none; undefined leaves it as it is).
   * Values that `before` already had are not written again. Only a commit with `before === null` may create a schema.
   */
  commit(before: Task | null, after: Task, entry: LogEntry | null, alarmAt: number | null | undefined): void;
  setAlarm(at: number | null): void;
  /** The kept entries with `seq > after`, in order; of `progressed` entries only the newest is kept. */
  entries(after: number): readonly LogEntry[];
  /** Removes everything, the alarm included. */
  clear(): Promise<void>;
}
