import { randomTaskId, decodeTaskId } from "../task-id";
import { overLimit } from "../task/errors";
import type { Owner, Task } from "../task/task";
import type { Watcher } from "./carrier";
import { Channel, closeOnAbort } from "./channel";
import { FeedHub, type FeedEnd } from "./feed-hub";
import { IndexedTaskStore } from "./indexed-task-store";
import { MemoryIndex } from "./memory-index";
import { MinuteCount } from "./minute-count";
import { MemoryShelf } from "./memory-shelf";
import type { Elsewhere } from "./hand-over";
import type { HostParts } from "./host-parts";
import { TaskHost } from "./task-host";
import type { Examined } from "./task-index";
import type { OwnerFeedMessage, SweepReport, TaskFeedMessage, TaskRef, WatchOptions } from "./task-store";
import { whenAborted } from "./when-aborted";

export type MemoryParts = Elsewhere &
  Pick<HostParts, "registry" | "limits" | "clock" | "fetch" | "log"> &
  // Left out, nobody is told of what a task asks, and no push target of anything.
  Partial<Pick<HostParts, "asking" | "letters" | "post">>;

type Entry = {
  readonly host: TaskHost;
  readonly ends: Set<FeedEnd>;
  readonly hub: FeedHub;
};

/** Anonymous tasks have no list; their caps are kept together. */
const indexName = (namespace: string, owner: Owner): string => JSON.stringify([namespace, owner]);

/** Everything in one process's memory: for trials and tests. Nothing survives the process. */
export class MemoryTaskStore extends IndexedTaskStore {
  readonly #parts: MemoryParts;
  readonly #tasks = new Map<string, Entry>();
  readonly #streams = new Map<string, number>();
  readonly #addresses = new Map<string, MinuteCount>();
  readonly #indexes = new Map<string, MemoryIndex>();

  constructor(parts: MemoryParts) {
    super(parts);
    this.#parts = parts;
  }

  mint(): string {
    return randomTaskId((bytes) => crypto.getRandomValues(bytes));
  }

  recognises(id: string): boolean {
    return decodeTaskId(id) !== null;
  }

  async occupy(address: string, signal: AbortSignal): Promise<void> {
    const { maxStreamsPerOwner } = this.limits;
    const open = this.#streams.get(address) ?? 0;
    if (open >= maxStreamsPerOwner) {
      throw overLimit("MAX_STREAMS_PER_OWNER", maxStreamsPerOwner, "close a stream first.", 5_000);
    }
    this.#streams.set(address, open + 1);
    whenAborted(signal, () => this.#streams.set(address, (this.#streams.get(address) ?? 1) - 1));
  }

  async admit(address: string): Promise<number | null> {
    const counted = this.#addresses.get(address) ?? new MinuteCount();
    this.#addresses.set(address, counted);
    return counted.take(this.clock(), this.limits.createsPerMinute);
  }

  async watch(
    { id, owner }: TaskRef,
    { after, deliver = 0, signal }: WatchOptions,
  ): Promise<AsyncIterable<TaskFeedMessage> | null> {
    const entry = this.#tasks.get(id);
    const attached = entry?.host.attach(owner, after);
    if (!entry || !attached) return null;
    const channel = new Channel<TaskFeedMessage>();
    const end = memoryEnd(channel);
    entry.ends.add(end);
    entry.hub.welcome(end, deliver, attached.messages, entry.host.openQuestions());
    if (attached.ended) channel.close();
    const leave = (): void => {
      channel.close();
      if (entry.ends.delete(end)) entry.hub.settle(entry.host.openQuestions());
    };
    whenAborted(signal, leave);
    return readUntil(channel, leave);
  }

  async *listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    const channel = new Channel<OwnerFeedMessage>();
    const unsubscribe = this.indexOf({ namespace, owner }).subscribe((message) => channel.push(message));
    closeOnAbort(channel, signal);
    try {
      yield* channel;
    } finally {
      unsubscribe();
    }
  }

  async sweep(budget: number): Promise<SweepReport> {
    const report = { owners: 0, examined: 0, removed: 0, dropped: 0, poked: 0, failures: 0, calls: 0, finished: true };
    const now = this.clock();
    for (const index of this.#indexes.values()) {
      const due = index.due(now, budget - report.calls);
      if (due.length === 0) continue;
      const examined: Examined[] = [];
      for (const id of due) examined.push(await this.examine(id));
      const { removed, dropped, nextDue } = await index.swept(examined, now);
      report.owners += 1;
      report.examined += examined.length;
      report.calls += examined.length;
      report.removed += removed;
      report.dropped += dropped;
      report.poked += examined.filter((found) => found.found && found.poked).length;
      if (nextDue !== null && nextDue <= now) report.finished = false;
    }
    return report;
  }

  protected placeOf(id: string, isNew?: true): TaskHost | undefined {
    return (this.#tasks.get(id) ?? (isNew && this.#newEntry(id)))?.host;
  }

  protected indexOf({ namespace, owner }: Pick<Task, "namespace" | "owner">): MemoryIndex {
    const name = indexName(namespace, owner);
    const index = this.#indexes.get(name) ?? new MemoryIndex();
    this.#indexes.set(name, index);
    return index;
  }

  protected async examine(id: string): Promise<Examined> {
    const entry = this.#tasks.get(id);
    const found = await entry?.host.examine();
    if (found?.found) return found;
    // While it was examined the same id may have been used again.
    if (this.#tasks.get(id) === entry) this.#tasks.delete(id);
    return { id, found: false };
  }

  #newEntry(id: string): Entry {
    const ends = new Set<FeedEnd>();
    const hub = new FeedHub(() => [...ends]);
    const parts = this.#parts;
    const host: TaskHost = new TaskHost({
      asking: async () => {},
      letters: async () => [],
      post: parts.fetch,
      ...parts,
      random: Math.random,
      shelf: new MemoryShelf(parts.clock, () => void host.alarm()),
      mirror: (task, mirror) => this.indexOf(task).mirror(mirror),
      touch: (task) => this.indexOf(task).touch(task.id, task.version, task.stage.phase),
      keepAlive: () => {},
      announce: (message, last) => hub.announce(message, last),
      deliver: (open, fresh) => hub.settle(open, fresh),
    });
    const entry = { host, ends, hub };
    this.#tasks.set(id, entry);
    return entry;
  }
}

function memoryEnd(channel: Channel<TaskFeedMessage>): FeedEnd {
  let state: Watcher = { rank: 0, since: 0, carries: false, holds: false };
  return {
    send: (message) => channel.push(message),
    close: () => channel.close(),
    watcher: () => state,
    become: (next) => void (state = next),
  };
}

/** Whoever stops reading has left, just as one whose signal aborts. */
async function* readUntil<T>(channel: AsyncIterable<T>, leave: () => void): AsyncGenerator<T, void, undefined> {
  try {
    yield* channel;
  } finally {
    leave();
  }
}
