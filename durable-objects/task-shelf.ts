import {
  longValues,
  shortFacts,
  toTask,
  type LongValue,
  type LongValues,
  type TaskRecord,
} from "../src/service/task-record";
import { LOG_LIMIT, type TaskShelf } from "../src/service/task-shelf";
import type { LogEntry, Task } from "../src/task/task";
import { CHUNK_BYTES, join, split, toBytes, toText, type Format } from "./chunks";
import { Schema } from "./schema";
import { taskShelfSql, taskShelfUpgrades } from "./task-shelf-sql";

type ValueRow = { n: number; slot: string; format: Format; bytes: ArrayBuffer };

/** What is stored, as this incarnation of the object knows it. */
type Kept = Omit<TaskRecord, "task"> & {
  readonly task: Task;
  readonly values: LongValues;
  /** The numbers of each slot's rows. */
  readonly rows: ReadonlyMap<string, readonly number[]>;
};

/** `toReal` turns the product's time into the platform's, for alarms: fixtures shift the product's clock. */
export const sqlShelf = (storage: DurableObjectStorage, toReal: (at: number) => number = (at) => at): TaskShelf =>
  new SqlShelf(storage, toReal);

class SqlShelf implements TaskShelf {
  readonly #storage: DurableObjectStorage;
  readonly #toReal: (at: number) => number;
  readonly #schema: Schema<keyof typeof taskShelfSql>;
  #kept: Kept | null = null;

  constructor(storage: DurableObjectStorage, toReal: (at: number) => number) {
    this.#storage = storage;
    this.#toReal = toReal;
    this.#schema = new Schema(storage, taskShelfUpgrades, taskShelfSql);
  }

  load(): Task | null {
    if (this.#schema.exists()) this.#kept ??= this.#read();
    return this.#kept && this.#kept.task;
  }

  commit(before: Task | null, after: Task, entry: LogEntry | null, alarmAt: number | null | undefined): void {
    if (before !== null) this.load();
    const kept = before === null ? null : this.#kept;
    // Known only once it is committed: a transaction that throws leaves what was there.
    this.#kept = this.#schema.transaction(() => {
      if (before === null) this.#schema.create();
      // Part of the same commit: the alarm's row lies in the same database. No await, or the block would end here.
      if (alarmAt !== undefined) this.setAlarm(alarmAt);
      return this.#write(kept, after, entry);
    });
  }

  setAlarm(at: number | null): void {
    void (at === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(this.#toReal(at)));
  }

  entries(after: number): readonly LogEntry[] {
    if (this.load() === null) return [];
    const entries = this.#schema
      .query<{ entry: string }>("entries", after)
      .map((row) => JSON.parse(row.entry) as LogEntry);
    const progressed = this.#kept?.progressed ?? null;
    if (progressed === null || progressed.seq <= after) return entries;
    return [...entries, progressed].sort((a, b) => a.seq - b.seq);
  }

  async clear(): Promise<void> {
    this.#kept = null;
    await this.#schema.wipe();
  }

  #write(kept: Kept | null, task: Task, entry: LogEntry | null): Kept {
    const values = longValues(task);
    const rows = this.#writeValues(kept, values);
    const progressed = entry?.event === "progressed" ? entry : (kept?.progressed ?? null);
    const before = kept?.logged ?? 0;
    const logged = entry === null || entry === progressed ? before : this.#addEntry(entry, before);
    this.#writeRecord({ task: shortFacts(task), progressed, logged });
    return { task, progressed, logged, values, rows };
  }

  #writeValues(kept: Kept | null, values: LongValues): ReadonlyMap<string, readonly number[]> {
    const rows = new Map<string, readonly number[]>();
    let last = 0;
    for (const [slot, numbers] of kept?.rows ?? []) {
      last = Math.max(last, numbers.at(-1) ?? 0);
      if (values.get(slot) === kept?.values.get(slot)) rows.set(slot, numbers);
      else for (const stale of numbers) this.#schema.query("removeValue", stale);
    }
    for (const [slot, value] of values) {
      if (rows.has(slot)) continue;
      const { format, bytes } = toBytes(textOf(value));
      const numbers: number[] = [];
      for (const chunk of split(bytes)) {
        last += 1;
        this.#schema.query("addValue", last, slot, format, chunk);
        numbers.push(last);
      }
      rows.set(slot, numbers);
    }
    return rows;
  }

  #writeRecord(record: TaskRecord): void {
    const parts = split(toBytes(JSON.stringify(record)).bytes);
    for (const [part, bytes] of parts.entries()) this.#schema.query("putRecord", part, bytes);
    this.#schema.query("cutRecord", parts.length);
  }

  /** Returns how many entries the log holds then. */
  #addEntry(entry: LogEntry, logged: number): number {
    this.#schema.query("addEntry", entry.seq, toRow(entry));
    if (logged < LOG_LIMIT) return logged + 1;
    this.#schema.query("dropOldestEntry");
    return logged;
  }

  #read(): Kept | null {
    const parts = this.#schema.query<{ bytes: ArrayBuffer }>("record").map((row) => row.bytes);
    if (parts.length === 0) return null;
    const record = JSON.parse(toText(8, join(parts))) as TaskRecord;
    const chunks = Map.groupBy(this.#schema.query<ValueRow>("values"), (row) => row.slot);
    const texts = new Map(
      [...chunks].map(([slot, rows]) => [slot, toText(rows[0]?.format ?? 8, join(rows.map((row) => row.bytes)))]),
    );
    const task = toTask(record.task, texts.keys(), (slot) => texts.get(slot));
    const rows = new Map([...chunks].map(([slot, found]) => [slot, found.map((row) => row.n)]));
    return { task, progressed: record.progressed, logged: record.logged, values: longValues(task), rows };
  }
}

const textOf = (value: LongValue): string => (typeof value === "string" ? value : JSON.stringify(value));

/** An entry holds small facts; a message that would not fit a row is cut there, and is whole in the task itself. */
function toRow(entry: LogEntry): string {
  const row = JSON.stringify(entry);
  if (row.length * 3 <= CHUNK_BYTES) return row;
  return JSON.stringify({ ...entry, statusMessage: entry.statusMessage?.slice(0, 1000) ?? null });
}
