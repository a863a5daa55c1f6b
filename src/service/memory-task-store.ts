import type { Clock } from "../clock";
import { randomTaskId, decodeTaskId } from "../task-id";
import { TaskError } from "../task/errors";
import type { Owner, TaskDraft } from "../task/task";
import type { LogLevel, TaskContext } from "../tool/context";
import type { Registry } from "../tool/registry";
import type { Watcher } from "./carrier";
import { Channel, closeOnAbort } from "./channel";
import { FeedHub, type FeedEnd } from "./feed-hub";
import type { Limits } from "./limits";
import { MemoryIndex } from "./memory-index";
import { MinuteCount } from "./minute-count";
import { MemoryShelf } from "./memory-shelf";
import type { Elsewhere } from "./hand-over";
import { TaskHost } from "./task-host";
import type { WorkAct, Worked } from "./work";
import type { Letters } from "./push-letter";
import type { SafeFetch } from "./safe-fetch";
import type { Sessions } from "./sessions";
import type { Examined } from "./task-index";
import type {
  Command,
  Created,
  IdempotencyKey,
  OwnerFeedMessage,
  Polled,
  ReadOptions,
  SweepReport,
  TaskFeedMessage,
  TaskListPage,
  TaskListQuery,
  TaskListRow,
  TaskRef,
  TaskSearch,
  TaskSearchPage,
  TaskSnapshot,
  TaskStore,
  Told,
  WatchOptions,
} from "./task-store";

export type MemoryParts = Elsewhere & {
  /** Tells a session that an anonymous task of its own asks something. */
  readonly asking?: Sessions["asking"];
  readonly registry: Registry;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly fetch: TaskContext["fetch"];
  /** Without them push targets are told nothing. */
  readonly letters?: Letters;
  /** Left out: `fetch`. */
  readonly post?: SafeFetch;
  readonly log: (level: LogLevel, message: string, data: object) => void;
};

type Entry = {
  readonly host: TaskHost;
  readonly index: MemoryIndex;
  readonly ends: Set<FeedEnd>;
  readonly hub: FeedHub;
};

/** Anonymous tasks have no list; their caps are kept together. */
const indexName = (namespace: string, owner: Owner): string => JSON.stringify([namespace, owner]);

/** Everything in one process's memory: for trials and tests. Nothing survives the process. */
export class MemoryTaskStore implements TaskStore {
  readonly pushes = true;
  readonly #parts: MemoryParts;
  readonly #tasks = new Map<string, Entry>();
  readonly #streams = new Map<string, number>();
  readonly #addresses = new Map<string, MinuteCount>();
  readonly #indexes = new Map<string, MemoryIndex>();

  constructor(parts: MemoryParts) {
    this.#parts = parts;
  }

  mint(): string {
    return randomTaskId((bytes) => crypto.getRandomValues(bytes));
  }

  recognises(id: string): boolean {
    return decodeTaskId(id) !== null;
  }

  async create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created> {
    const { limits, clock } = this.#parts;
    const index = this.#index(draft.namespace, draft.owner);
    const now = clock();
    const { id, tool, contextId, origin, createdAt } = draft;
    const maxPerMinute = draft.owner === null ? Number.MAX_SAFE_INTEGER : limits.createsPerMinute;
    const caps = { maxStored: limits.maxTasksPerOwner, maxLive: limits.maxLiveTasksPerOwner, maxPerMinute };
    const row = {
      id,
      tool,
      contextId,
      origin,
      createdAt,
      deadline: now + limits.reservationMs,
      // Anonymous callers share nothing, keys included.
      idempotency: draft.owner === null ? null : (idempotency ?? null),
      ...caps,
    };
    const reserved = await index.reserve(row, now);
    if (reserved.kind !== "reserved" && reserved.kind !== "existing") return reserved;
    const made = this.#entry(reserved.id, index).host.create({ ...draft, id: reserved.id }, reserved.deadline);
    if (made.kind === "created") return made;
    const task = await this.read({ id: reserved.id, owner: draft.owner });
    if (task) return { kind: "existing", task };
    // It has expired: whoever finds that clears it away.
    await index.swept([await this.#examine(reserved.id)], now);
    return this.create(draft, idempotency);
  }

  async read({ id, owner }: TaskRef, options?: ReadOptions): Promise<TaskSnapshot | null> {
    return this.#tasks.get(id)?.host.read(owner, options) ?? null;
  }

  async poll({ id, owner }: TaskRef, options?: ReadOptions): Promise<Polled | null> {
    return this.#tasks.get(id)?.host.poll(owner, options) ?? null;
  }

  async occupy(address: string, signal: AbortSignal): Promise<void> {
    const limit = "MAX_STREAMS_PER_OWNER";
    const { maxStreamsPerOwner } = this.#parts.limits;
    const open = this.#streams.get(address) ?? 0;
    if (open >= maxStreamsPerOwner) {
      throw new TaskError("limit_reached", `${limit} (${maxStreamsPerOwner}) streams are open; close one first.`, {
        limit,
        value: maxStreamsPerOwner,
        retryAfterMs: 5_000,
      });
    }
    this.#streams.set(address, open + 1);
    signal.addEventListener("abort", () => this.#streams.set(address, (this.#streams.get(address) ?? 1) - 1), {
      once: true,
    });
  }

  async admit(address: string): Promise<number | null> {
    const counted = this.#addresses.get(address) ?? new MinuteCount();
    this.#addresses.set(address, counted);
    return counted.take(this.#parts.clock(), this.#parts.limits.createsPerMinute);
  }

  async tell({ id, owner }: TaskRef, command: Command): Promise<Told | null> {
    return (await this.#tasks.get(id)?.host.tell(owner, command)) ?? null;
  }

  async work(id: string, act: WorkAct): Promise<Worked | null> {
    return (await this.#tasks.get(id)?.host.work(act)) ?? null;
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
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return readUntil(channel, leave);
  }

  async *listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    const channel = new Channel<OwnerFeedMessage>();
    const unsubscribe = this.#index(namespace, owner).subscribe((message) => channel.push(message));
    closeOnAbort(channel, signal);
    try {
      yield* channel;
    } finally {
      unsubscribe();
    }
  }

  async list(query: TaskListQuery): Promise<TaskListPage> {
    const { rows, more, reserved } = await this.#index(query.namespace, query.owner).list(query, this.#parts.clock());
    return { rows: without(rows, this.#unreadable(reserved, query.owner)), more };
  }

  async search(query: TaskSearch): Promise<TaskSearchPage> {
    const index = this.#index(query.namespace, query.owner);
    const { rows, more, total, reserved } = await index.search(query, this.#parts.clock());
    const gone = this.#unreadable(reserved, query.owner);
    return { rows: without(rows, gone), more, total: total - gone.length };
  }

  /** Of the rows that no task has confirmed those without a task: it may be gone before its index heard of it. */
  #unreadable(reserved: readonly string[], owner: Owner): readonly string[] {
    return reserved.filter((id) => !this.#tasks.get(id)?.host.read(owner, { body: false }));
  }

  async sweep(budget: number): Promise<SweepReport> {
    const report = { owners: 0, examined: 0, removed: 0, dropped: 0, poked: 0, failures: 0, calls: 0, finished: true };
    const now = this.#parts.clock();
    for (const index of this.#indexes.values()) {
      const due = await index.due(now, budget - report.calls);
      if (due.length === 0) continue;
      const examined: Examined[] = [];
      for (const { id } of due) examined.push(await this.#examine(id));
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

  async #examine(id: string): Promise<Examined> {
    const entry = this.#tasks.get(id);
    const found = await entry?.host.examine();
    if (found?.found) return found;
    // While it was examined the same id may have been used again.
    if (this.#tasks.get(id) === entry) this.#tasks.delete(id);
    return { id, found: false };
  }

  #index(namespace: string, owner: Owner): MemoryIndex {
    const name = indexName(namespace, owner);
    const known = this.#indexes.get(name);
    if (known) return known;
    const index = new MemoryIndex();
    this.#indexes.set(name, index);
    return index;
  }

  #entry(id: string, index: MemoryIndex): Entry {
    const known = this.#tasks.get(id);
    if (known) return known;
    const ends = new Set<FeedEnd>();
    const hub = new FeedHub(() => [...ends]);
    const { registry, limits, clock, fetch, log, asking, queues, workflows } = this.#parts;
    const { letters = async () => [], post = fetch } = this.#parts;
    const shelf = new MemoryShelf(clock, () => void host.alarm());
    const host = new TaskHost({
      shelf,
      clock,
      random: Math.random,
      registry,
      limits,
      fetch,
      letters,
      post,
      log,
      queues,
      workflows,
      mirror: (_task, mirror) => index.mirror(mirror),
      touch: (task) => index.touch(task.id, task.version, task.stage.phase),
      keepAlive: () => {},
      announce: (message, last) => hub.announce(message, last),
      deliver: (open, fresh) => hub.settle(open, fresh),
      asking: async (task) => {
        if (task.client.session) await asking?.(task.client.session, task.id);
      },
    });
    const entry = { host, index, ends, hub };
    this.#tasks.set(id, entry);
    return entry;
  }
}

const without = (rows: readonly TaskListRow[], ids: readonly string[]): readonly TaskListRow[] =>
  rows.filter(({ id }) => !ids.includes(id));

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
