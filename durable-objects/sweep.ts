import type { Clock } from "../src/clock";
import type { DueRow, Examined, TaskIndex } from "../src/service/task-index";
import type { SweepReport } from "../src/service/task-store";
import type { DirectoryCalls, DirectoryEntry } from "./rpc";

/** What a run walks over. None of these retries: the next run comes soon, and the budget counts every call. */
export type SweepParts = {
  readonly shards: number;
  readonly directory: (shard: number) => Pick<DirectoryCalls, "due" | "settle">;
  readonly index: (name: string) => Pick<TaskIndex, "due" | "swept">;
  /** Asks the object of one row of the index of this name. */
  readonly examine: (name: string, id: string) => Promise<Examined>;
  readonly clock: Clock;
  readonly random: () => number;
};

const OWNERS_AT_ONCE = 50;
const TASKS_AT_ONCE = 32;

/** The calls one owner takes at least: what is due, one task, what was found, the directory. */
const CALLS_PER_OWNER = 4;

/** How long an owner whose index cannot be reached is left alone. */
const POSTPONE_MS = 300_000;

/**
 * One collecting run: directory, owners that are due, their tasks that are due. Where it stops the rest is still due,
 * so the next run goes on there; each begins at a shard of its own, so that none is always last. Any number of runs
 * at once are safe: a task is examined as often as you like, and its row goes once.
 */
export async function sweep(parts: SweepParts, budget: number): Promise<SweepReport> {
  const run = new Sweep(parts, budget);
  await run.walk();
  return run.report();
}

/** Asks the objects of some rows of one index. What is gone goes only as the row that was seen: its id may be in use again. */
export async function examineRows(
  rows: readonly Pick<DueRow, "id" | "mark">[],
  examine: (id: string) => Promise<Examined>,
): Promise<{ readonly examined: readonly Examined[]; readonly unanswered: readonly string[] }> {
  const asked = await Promise.allSettled(rows.map(({ id }) => examine(id)));
  const examined = asked.flatMap((result, at) => {
    if (result.status === "rejected") return [];
    return [result.value.found ? result.value : { ...result.value, mark: rows[at]?.mark ?? null }];
  });
  return { examined, unanswered: rows.flatMap(({ id }, at) => (asked[at]?.status === "rejected" ? [id] : [])) };
}

class Sweep {
  readonly #parts: SweepParts;
  readonly #budget: number;
  readonly #counts = { owners: 0, examined: 0, removed: 0, dropped: 0, poked: 0, failures: 0 };
  #calls = 0;
  #finished = true;

  constructor(parts: SweepParts, budget: number) {
    this.#parts = parts;
    this.#budget = budget;
  }

  report(): SweepReport {
    return { ...this.#counts, calls: this.#calls, finished: this.#finished };
  }

  async walk(): Promise<void> {
    const { shards, random } = this.#parts;
    const start = Math.floor(random() * shards);
    for (let step = 0; step < shards && this.#finished; step += 1) await this.#walkShard((start + step) % shards);
  }

  async #walkShard(shard: number): Promise<void> {
    let after: DirectoryEntry | undefined;
    do {
      if (!this.#affords(1)) return;
      let entries: readonly DirectoryEntry[];
      try {
        entries = await this.#call(this.#parts.directory(shard).due(this.#parts.clock(), OWNERS_AT_ONCE, after));
      } catch {
        this.#counts.failures += 1;
        return;
      }
      for (const entry of entries) {
        if (!this.#affords(CALLS_PER_OWNER)) return;
        await this.#visit(shard, entry);
      }
      after = entries.length < OWNERS_AT_ONCE ? undefined : entries.at(-1);
    } while (after);
  }

  async #visit(shard: number, entry: DirectoryEntry): Promise<void> {
    this.#counts.owners += 1;
    const directory = this.#parts.directory(shard);
    try {
      const nextDue = await this.#collect(entry.name);
      await this.#call(directory.settle(entry, nextDue));
    } catch {
      this.#counts.failures += 1;
      if (this.#affords(1))
        await this.#call(directory.settle(entry, this.#parts.clock() + POSTPONE_MS)).catch(() => {});
    }
  }

  /** Everything of one owner that is due, and when it is due next. */
  async #collect(name: string): Promise<number | null> {
    const index = this.#parts.index(name);
    for (;;) {
      // Two calls are kept back: without them what was examined would be lost on the index and the directory.
      const limit = Math.min(TASKS_AT_ONCE, this.#budget - this.#calls - 3);
      const rows = await this.#call(index.due(this.#parts.clock(), limit));
      const { examined, unanswered } = await this.#examine(name, rows);
      const { removed, dropped, nextDue } = await this.#call(index.swept(examined, this.#parts.clock(), unanswered));
      this.#counts.removed += removed;
      this.#counts.dropped += dropped;
      if (rows.length < limit) return nextDue;
      // The directory is told last, and takes one call more.
      if (!this.#affords(CALLS_PER_OWNER)) return nextDue;
    }
  }

  async #examine(
    name: string,
    rows: readonly DueRow[],
  ): Promise<{ readonly examined: readonly Examined[]; readonly unanswered: readonly string[] }> {
    const { examined, unanswered } = await examineRows(rows, (id) => this.#call(this.#parts.examine(name, id)));
    this.#counts.examined += examined.length;
    this.#counts.poked += examined.filter((found) => found.found && found.poked).length;
    this.#counts.failures += unanswered.length;
    return { examined, unanswered };
  }

  /** Whether the budget has room for so many calls; if not, the run ends here, unfinished. */
  #affords(calls: number): boolean {
    this.#finished &&= this.#calls + calls <= this.#budget;
    return this.#finished;
  }

  #call<T>(call: Promise<T>): Promise<T> {
    this.#calls += 1;
    return call;
  }
}
