import type { Owner } from "../task/task";
import { Channel, closeOnAbort } from "./channel";
import type { Picked, PickWish, QueuedTask, WorkQueue, WorkQueues } from "./work-queue";

type Pick = {
  readonly key: string;
  readonly lease: string;
  readonly until: number;
  /** Whether its task said yes. */
  readonly agreed: boolean;
  /** The owner's turn that this pick was, and the one before it. */
  readonly turn: number;
  readonly before: number;
};

type Row = QueuedTask & { readonly pick: Pick | null };

/** Queues in one process's memory: for trials and tests. */
export function memoryQueues(): WorkQueues {
  const queues = new Map<string, WorkQueue>();
  return (name) => {
    const known = queues.get(name) ?? new MemoryQueue();
    queues.set(name, known);
    return known;
  };
}

export class MemoryQueue implements WorkQueue {
  /** In the order in which they began to wait. */
  readonly #rows = new Map<string, Row>();
  /** The last turn of each owner. */
  readonly #turns = new Map<Owner, number>();
  readonly #watchers = new Set<Channel<unknown>>();
  #turn = 0;

  async offer(task: QueuedTask): Promise<void> {
    const known = this.#rows.get(task.id);
    if (known?.pick === null) return;
    this.#rows.delete(task.id);
    this.#rows.set(task.id, { ...task, pick: null });
    this.#wake();
  }

  async withdraw(id: string): Promise<void> {
    this.#rows.delete(id);
    this.#forget();
  }

  async pick({ key, max, now, until, tools }: PickWish): Promise<readonly Picked[]> {
    this.#lapse(now);
    const again = [...this.#rows.values()].filter((row) => row.pick?.key === key);
    if (again.length > 0) return again.map((row) => this.#give(row, { ...(row.pick as Pick), until }));
    const picked: Picked[] = [];
    while (picked.length < max) {
      const row = this.#next(tools);
      if (!row) break;
      this.#turn += 1;
      const before = this.#turns.get(row.owner) ?? 0;
      this.#turns.set(row.owner, this.#turn);
      const lease = crypto.randomUUID();
      picked.push(this.#give(row, { key, lease, until, agreed: false, turn: this.#turn, before }));
    }
    return picked;
  }

  async agreed(held: readonly Picked[], gone: readonly Picked[]): Promise<void> {
    for (const { id, lease, until } of held) {
      const row = this.#rows.get(id);
      if (row?.pick?.lease === lease) this.#give(row, { ...row.pick, until, agreed: true });
    }
    const rows = gone.flatMap(({ id, lease }) => {
      const row = this.#rows.get(id);
      return row?.pick?.lease === lease ? [{ ...row, pick: row.pick }] : [];
    });
    // The newest first: each gives the owner back the turn before it.
    for (const { id, owner, pick } of rows.sort((a, b) => b.pick.turn - a.pick.turn)) {
      this.#rows.delete(id);
      if (this.#turns.get(owner) === pick.turn) this.#turns.set(owner, pick.before);
    }
    this.#forget();
  }

  async *watch(signal: AbortSignal): AsyncIterable<unknown> {
    const channel = new Channel<unknown>();
    closeOnAbort(channel, signal);
    this.#watchers.add(channel);
    if (this.#next(null)) channel.push("waiting");
    try {
      yield* channel;
    } finally {
      this.#watchers.delete(channel);
    }
  }

  /** Nobody heard of what a task did not agree to in time: it waits on, in its old place. */
  #lapse(now: number): void {
    for (const row of this.#rows.values()) {
      if (row.pick === null || row.pick.until > now) continue;
      if (row.pick.agreed) this.#rows.delete(row.id);
      else this.#rows.set(row.id, { ...row, pick: null });
    }
    this.#forget();
  }

  #next(tools: readonly string[] | null): Row | null {
    let first: Row | null = null;
    for (const row of this.#rows.values()) {
      if (row.pick !== null || (tools !== null && !tools.includes(row.tool))) continue;
      if (first === null || this.#turnOf(row) < this.#turnOf(first)) first = row;
    }
    return first;
  }

  #turnOf({ owner }: Row): number {
    return this.#turns.get(owner) ?? 0;
  }

  #give(row: Row, pick: Pick): Picked {
    this.#rows.set(row.id, { ...row, pick });
    return { id: row.id, lease: pick.lease, until: pick.until };
  }

  /** Where nobody waits, nobody was overtaken. */
  #forget(): void {
    if (this.#rows.size === 0) this.#turns.clear();
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher.push("offered");
  }
}
