import type { Clock } from "../src/clock";
import type { Limits } from "../src/service/limits";
import type { Reservation } from "../src/service/task-index";
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
} from "../src/service/task-store";
import type { WorkAct, Worked } from "../src/service/work";
import { TaskError } from "../src/task/errors";
import type { TaskDraft } from "../src/task/task";
import { mintTaskId } from "../src/task-id";
import type { OwnerIndex } from "./owner-index";
import { attach, ownerFeed, taskFeed } from "./feed";
import { AFTER_HEADER, DELIVER_HEADER, OWNER_HEADER, STREAMS_HEADER, toHeader, type FeedWish } from "./feed-socket";
import { mintedId } from "./minted-id";
import { addressName, ownerIndexName } from "./names";
import { calling, callingOnce } from "./object-call";
import { indexOf, indexStub, taskStub, type StorageBindings, type TaskCreated } from "./rpc";
import { examineTask, sweepObjects } from "./sweep-objects";

/** How often a create starts over because the task its id or idempotency key named is gone by now. */
const ROUNDS = 4;

export type DurableTaskStoreParts = {
  readonly objects: StorageBindings;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** A task is an object of its own; an owner's index keeps the caps and the list; the directory finds what is due. */
export const durableTaskStore = (parts: DurableTaskStoreParts): TaskStore => new DurableTaskStore(parts);

class DurableTaskStore implements TaskStore {
  readonly pushes = true;
  readonly #objects: StorageBindings;
  readonly #limits: Limits;
  readonly #clock: Clock;

  constructor({ objects, limits, clock }: DurableTaskStoreParts) {
    this.#objects = objects;
    this.#limits = limits;
    this.#clock = clock;
  }

  mint(): string {
    return mintTaskId(() => this.#objects.TASKS.newUniqueId().toString());
  }

  recognises(id: string): boolean {
    return this.#hex(id) !== null;
  }

  async create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created> {
    // Anonymous callers share nothing, keys included; their rows do not even lie in one index.
    const key = draft.owner === null ? null : (idempotency ?? null);
    for (let round = 0; round < ROUNDS; round += 1) {
      const reserved = await calling(() =>
        indexOf(this.#objects, draft).reserve(this.#reservation(draft, key), this.#clock()),
      );
      if (reserved.kind !== "reserved" && reserved.kind !== "existing") return reserved;
      if (reserved.kind === "reserved" || !reserved.confirmed) {
        const made = await this.#make({ ...draft, id: reserved.id }, reserved.deadline);
        if (made.kind === "created") return made;
      }
      // What the row stands for may have expired, or never have come true: whoever finds that clears it away.
      const task = await this.read({ id: reserved.id, owner: draft.owner });
      if (task) return { kind: "existing", task };
      await this.#collect(draft, reserved.id);
    }
    throw new TaskError("overloaded", "The task could not be stored in time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  async read({ id, owner }: TaskRef, options?: ReadOptions): Promise<TaskSnapshot | null> {
    if (!this.recognises(id)) return null;
    return calling(() => this.#task(id).read(owner, options));
  }

  async poll({ id, owner }: TaskRef, options?: ReadOptions): Promise<Polled | null> {
    if (!this.recognises(id)) return null;
    return calling(() => this.#task(id).poll(owner, options));
  }

  async occupy(address: string, signal: AbortSignal): Promise<void> {
    const streams = String(this.#limits.maxStreamsPerOwner);
    await calling(() => attach(indexStub(this.#objects, addressName(address)), { [STREAMS_HEADER]: streams }, signal));
  }

  async admit(address: string): Promise<number | null> {
    const counter = this.#objects.OWNERS.getByName(addressName(address)) as unknown as Pick<OwnerIndex, "admit">;
    return calling(() => counter.admit(this.#limits.createsPerMinute, this.#clock()));
  }

  async tell({ id, owner }: TaskRef, command: Command): Promise<Told | null> {
    if (!this.recognises(id)) return null;
    // Repeating it would do no harm, but would report what the first try changed as unchanged.
    return callingOnce(() => this.#task(id).tell(owner, command));
  }

  async work(id: string, act: WorkAct): Promise<Worked | null> {
    if (!this.recognises(id)) return null;
    // Told twice, each of these says the same again.
    return calling(() => this.#task(id).work(act));
  }

  async watch({ id, owner }: TaskRef, options: WatchOptions): Promise<AsyncIterable<TaskFeedMessage> | null> {
    if (!this.recognises(id)) return null;
    const { after, deliver = 0, signal } = options;
    const open = (from: number | undefined) =>
      attach<TaskFeedMessage>(
        this.#task(id),
        feedHeaders({ owner, after: from, deliver }, this.#limits.maxStreamsPerOwner),
        signal,
      );
    const first = await calling(() => open(after));
    return first && taskFeed(first, open, after, signal);
  }

  listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    const name = ownerIndexName(namespace, owner, "");
    const streams = String(this.#limits.maxStreamsPerOwner);
    return ownerFeed(
      () => attach<OwnerFeedMessage>(indexStub(this.#objects, name), { [STREAMS_HEADER]: streams }, signal),
      signal,
    );
  }

  async list(query: TaskListQuery): Promise<TaskListPage> {
    const name = ownerIndexName(query.namespace, query.owner, "");
    const { rows, more, reserved } = await calling(() => indexStub(this.#objects, name).list(query, this.#clock()));
    const unconfirmed = new Set(reserved);
    const asked = rows.map((row) => (unconfirmed.has(row.id) ? this.#rowOf({ id: row.id, owner: query.owner }) : row));
    return { rows: (await Promise.all(asked)).filter((row) => row !== null), more };
  }

  async search(query: TaskSearch): Promise<TaskSearchPage> {
    const name = ownerIndexName(query.namespace, query.owner, "");
    const found = await calling(() => indexStub(this.#objects, name).search(query, this.#clock()));
    const unconfirmed = new Set(found.reserved);
    // Filters and places go by what the index knows; what is asked is only whether there is a task at all.
    const asked = found.rows.map(async (row) =>
      !unconfirmed.has(row.id) || (await this.#rowOf({ id: row.id, owner: query.owner })) ? row : null,
    );
    const rows = (await Promise.all(asked)).filter((row) => row !== null);
    const last = found.rows.at(-1);
    const lost = found.rows.length - rows.length;
    if (rows.length > 0 || !found.more || !last) return { rows, more: found.more, total: found.total - lost };
    // Whoever asks could go on only from a row it was given.
    const next = await this.search({ ...query, after: last });
    return { ...next, total: next.total - lost };
  }

  sweep(budget: number): Promise<SweepReport> {
    return sweepObjects({ objects: this.#objects, limits: this.#limits, clock: this.#clock }, budget);
  }

  /**
   * When the call fails the reservation stays: whether the object stored the task is not known, and a task without a
   * row would be neither listed nor collected. The sweep asks the object, and drops the row if there is none.
   */
  async #make(draft: TaskDraft, deadline: number): Promise<TaskCreated> {
    const made = await calling(() => this.#task(draft.id).create(draft, deadline));
    // From its deadline on the object stores nothing, so this row will never have a task.
    if (made.kind === "late") await calling(() => indexOf(this.#objects, draft).release(draft.id));
    return made;
  }

  #reservation(draft: TaskDraft, idempotency: IdempotencyKey | null): Reservation {
    const { id, tool, contextId, origin, createdAt } = draft;
    const { reservationMs, maxTasksPerOwner, maxLiveTasksPerOwner, createsPerMinute } = this.#limits;
    // Anonymous rows lie together by chance: their rate is counted by address, before this.
    const maxPerMinute = draft.owner === null ? Number.MAX_SAFE_INTEGER : createsPerMinute;
    const caps = { maxStored: maxTasksPerOwner, maxLive: maxLiveTasksPerOwner, maxPerMinute };
    return { id, tool, contextId, origin, createdAt, deadline: this.#clock() + reservationMs, idempotency, ...caps };
  }

  /** What the sweep would do, now: the row said there is a task, and it reads as gone. */
  async #collect(draft: TaskDraft, id: string): Promise<void> {
    const examined = await calling(() => examineTask(this.#objects, id));
    await calling(() => indexOf(this.#objects, draft).swept([examined], this.#clock()));
  }

  /** A row for a reservation whose task exists, though its index has not heard of it yet. */
  async #rowOf(ref: TaskRef): Promise<TaskListRow | null> {
    const task = await this.read(ref, { body: false });
    if (!task) return null;
    const { id, createdAt, tool, contextId, origin, stage, statusAt } = task;
    const outcome = stage.phase === "settled" ? stage.outcome.kind : null;
    return { id, createdAt, tool, contextId, origin, phase: stage.phase, outcome, statusAt };
  }

  #task(id: string) {
    const hex = this.#hex(id);
    if (hex === null) throw new TaskError("internal", "A task id of this store was expected.");
    return taskStub(this.#objects, hex);
  }

  #hex(id: string): string | null {
    return mintedId(this.#objects.TASKS, id)?.toString() ?? null;
  }
}

function feedHeaders({ owner, after, deliver }: FeedWish, streams: number): Readonly<Record<string, string>> {
  const from: Readonly<Record<string, string>> = after === undefined ? {} : { [AFTER_HEADER]: String(after) };
  return {
    [OWNER_HEADER]: toHeader(owner),
    [DELIVER_HEADER]: String(deliver),
    [STREAMS_HEADER]: String(streams),
    ...from,
  };
}
