import type { Limits } from "../service/limits";
import { TaskError } from "../task/errors";
import type { LogEntry, Task } from "../task/task";
import { transition, type TaskEvent } from "../task/transition";
import { fromResults, loading, writing, type Change, type Level, type Stored } from "./task-rows";
import { taskSql } from "./task-sql";

/** So many writers of one task may have been faster. */
const ATTEMPTS = 30;

/** So many tasks under a lease are remembered: an isolate runs few at a time. */
const REMEMBERED = 32;

/** What to do to a task as it stands, and what to answer once that is stored. */
export type Plan<T> = { readonly events: readonly TaskEvent[]; readonly answer: (task: Task) => T };

export type D1TasksParts = {
  readonly db: () => Promise<D1Database>;
  readonly limits: Limits;
  /** A write of this task is stored. */
  readonly changed: (before: Task, after: Task) => void;
};

/** Tasks in their rows: read, decide, and write if nobody else has written meanwhile. */
export class D1Tasks {
  readonly #parts: D1TasksParts;
  /** What this isolate wrote last of the tasks that are run here: spares a run to read before each write. */
  readonly #remembered = new Map<string, Stored>();

  constructor(parts: D1TasksParts) {
    this.#parts = parts;
  }

  async load(id: string, level: Level): Promise<Stored | null> {
    const db = await this.#parts.db();
    const [rows, values] = await db.batch(loading(db, id, level));
    return fromResults(rows?.results ?? [], values?.results ?? []);
  }

  /** The task with its log from after the given seq, as of one instant. */
  async loadWithLog(
    id: string,
    after: number,
  ): Promise<{ readonly task: Task; readonly entries: readonly LogEntry[] } | null> {
    const db = await this.#parts.db();
    const [rows, values, lines] = await db.batch<{ entry: string }>([
      ...loading(db, id, "facts"),
      db.prepare(taskSql.entries).bind(id, after),
    ]);
    const stored = fromResults(rows?.results ?? [], values?.results ?? []);
    if (!stored) return null;
    const kept = (lines?.results ?? []).map(({ entry }) => JSON.parse(entry) as LogEntry);
    const { progressed } = stored;
    const all = progressed && progressed.seq > after ? [...kept, progressed] : kept;
    return { task: stored.task, entries: all.sort((a, b) => a.seq - b.seq) };
  }

  /** One atomic read-modify-write; null when there is no such task, or `decide` says so. */
  async change<T>(id: string, level: Level, decide: (task: Task) => Plan<T> | null): Promise<T | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const remembered = level === "full" ? this.#remembered.get(id) : undefined;
      const stored = remembered ?? (await this.load(id, level));
      if (!stored) return null;
      const plan = decide(stored.task);
      const change = plan && applied(stored.task, plan.events);
      if (change && change.task !== stored.task) {
        const after = await this.#write(stored, change);
        if (after) {
          if (level === "full") this.#remember(after);
          this.#parts.changed(stored.task, after.task);
          return plan.answer(after.task);
        }
        await pause(Math.random() * Math.min(500, 5 * 2 ** attempt));
      } else if (!remembered) {
        return plan && plan.answer(stored.task);
      }
      // Somebody else has written, or may have: from here on only what is read counts.
      this.#remembered.delete(id);
    }
    throw new TaskError("overloaded", "Too many are writing this task at the same time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  async #write(before: Stored, change: Change): Promise<Stored | null> {
    const db = await this.#parts.db();
    const { after, statements } = writing(db, before, change, this.#parts.limits);
    const [updated] = await db.batch([...statements]);
    return (updated?.results.length ?? 0) > 0 ? after : null;
  }

  #remember(stored: Stored): void {
    const { id, lease, stage } = stored.task;
    this.#remembered.delete(id);
    if (lease === null || stage.phase === "settled") return;
    this.#remembered.set(id, stored);
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined && this.#remembered.size > REMEMBERED) this.#remembered.delete(oldest);
  }
}

/** All of the events in turn; the very task when none of them meant anything. */
function applied(before: Task, events: readonly TaskEvent[]): Change {
  const entries: LogEntry[] = [];
  let task = before;
  for (const event of events) {
    const { task: next, entry } = transition(task, event);
    if (entry) entries.push(entry);
    task = next;
  }
  return { task, entries };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
