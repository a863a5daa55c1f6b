import type { Clock } from "../clock";
import { TaskError } from "../task/errors";
import type { Owner, TaskDraft } from "../task/task";
import type { Limits } from "./limits";
import type { Examined, Reservation, TaskIndex } from "./task-index";
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
import type { WorkAct, Worked } from "./work";

/** How often a create starts over because the task its id or idempotency key named is gone by now. */
const ROUNDS = 4;

export type TaskCreated =
  | { readonly kind: "created" | "existing"; readonly task: TaskSnapshot }
  | { readonly kind: "late" };

/** What the place of one task offers. */
export interface TaskCalls {
  /** The first draft wins; a repeated create answers with what is stored. `late` from the deadline on. */
  create(draft: TaskDraft, deadline: number): Promise<TaskCreated>;
  read(owner: Owner, options?: ReadOptions): Promise<TaskSnapshot | null>;
  poll(owner: Owner, options?: ReadOptions): Promise<Polled | null>;
  tell(owner: Owner, command: Command): Promise<Told | null>;
  work(act: WorkAct): Promise<Worked | null>;
  /** Collects an expired task, sets a late one going again, and says where the task stands. */
  examine(): Promise<Examined>;
}

type PlaceCalls = Omit<TaskCalls, "examine">;

/** It may be close by. */
type Place = {
  readonly [M in keyof PlaceCalls]: (
    ...given: Parameters<PlaceCalls[M]>
  ) => ReturnType<PlaceCalls[M]> | Awaited<ReturnType<PlaceCalls[M]>>;
};

type Shared = Pick<TaskIndex, "reserve" | "release" | "list" | "search" | "swept">;

/** A store in which each task has a place of its own, and an owner's index keeps the caps and the list. */
export abstract class IndexedTaskStore implements TaskStore {
  readonly pushes = true;
  protected readonly limits: Limits;
  protected readonly clock: Clock;

  constructor({ limits, clock }: { readonly limits: Limits; readonly clock: Clock }) {
    this.limits = limits;
    this.clock = clock;
  }

  abstract mint(): string;
  abstract recognises(id: string): boolean;
  abstract admit(address: string): Promise<number | null>;
  abstract occupy(address: string, signal: AbortSignal): Promise<void>;
  abstract watch(ref: TaskRef, options: WatchOptions): Promise<AsyncIterable<TaskFeedMessage> | null>;
  abstract listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage>;
  abstract sweep(budget: number): Promise<SweepReport>;

  /** Of a task that is there, or of a new one; nothing where neither can be. */
  protected abstract placeOf(id: string, isNew?: true): Place | null | undefined;
  /** The index that has the row of such a task. */
  protected abstract indexOf(task: Pick<TaskDraft, "namespace" | "owner" | "id">): Shared;
  protected abstract examine(id: string): Promise<Examined>;

  async create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created> {
    const index = this.indexOf(draft);
    for (let round = 0; round < ROUNDS; round += 1) {
      const reserved = await index.reserve(this.#reservation(draft, idempotency ?? null), this.clock());
      if (reserved.kind !== "reserved" && reserved.kind !== "existing") return reserved;
      const { id, deadline } = reserved;
      if (reserved.kind === "reserved" || !reserved.confirmed) {
        // When the call fails the reservation stays: whether the task was stored is not known, and a task without a row
        // would be neither listed nor collected. The sweep asks its place, and drops the row if there is none.
        const made = await this.placeOf(id, true)?.create({ ...draft, id }, deadline);
        if (!made) throw new TaskError("internal", "A task id of this store was expected.");
        if (made.kind === "created") return made;
        // From its deadline on nothing is stored, so this row will never have a task.
        if (made.kind === "late") await index.release(id);
      }
      // What the row stands for may have expired, or never have come true: whoever finds that clears it away.
      const task = await this.read({ id, owner: draft.owner });
      if (task) return { kind: "existing", task };
      await index.swept([await this.examine(id)], this.clock());
    }
    throw new TaskError("overloaded", "The task could not be stored in time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  async read({ id, owner }: TaskRef, options?: ReadOptions): Promise<TaskSnapshot | null> {
    return this.placeOf(id)?.read(owner, options) ?? null;
  }

  async poll({ id, owner }: TaskRef, options?: ReadOptions): Promise<Polled | null> {
    return this.placeOf(id)?.poll(owner, options) ?? null;
  }

  async tell({ id, owner }: TaskRef, command: Command): Promise<Told | null> {
    return this.placeOf(id)?.tell(owner, command) ?? null;
  }

  async work(id: string, act: WorkAct): Promise<Worked | null> {
    return this.placeOf(id)?.work(act) ?? null;
  }

  async list(query: TaskListQuery): Promise<TaskListPage> {
    const { rows, more, reserved } = await this.indexOf({ ...query, id: "" }).list(query, this.clock());
    return { rows: await this.#confirmed(rows, reserved, query.owner, (_, task) => rowOf(task)), more };
  }

  async search(query: TaskSearch): Promise<TaskSearchPage> {
    const found = await this.indexOf({ ...query, id: "" }).search(query, this.clock());
    // Filters and places go by what the index knows.
    const rows = await this.#confirmed(found.rows, found.reserved, query.owner, (row) => row);
    const last = found.rows.at(-1);
    const lost = found.rows.length - rows.length;
    if (rows.length > 0 || !found.more || !last) return { rows, more: found.more, total: found.total - lost };
    // Whoever asks could go on only from a row it was given.
    const next = await this.search({ ...query, after: last });
    return { ...next, total: next.total - lost };
  }

  /** A reservation's task may exist although its index has not heard of it yet, or be gone before. */
  async #confirmed(
    rows: readonly TaskListRow[],
    reserved: readonly string[],
    owner: Owner,
    show: (row: TaskListRow, task: TaskSnapshot) => TaskListRow,
  ): Promise<readonly TaskListRow[]> {
    const asked = rows.map(async (row) => {
      if (!reserved.includes(row.id)) return row;
      const task = await this.read({ id: row.id, owner }, { body: false });
      return task && show(row, task);
    });
    return (await Promise.all(asked)).filter((row) => row !== null);
  }

  #reservation(draft: TaskDraft, idempotency: IdempotencyKey | null): Reservation {
    const { id, tool, contextId, origin, createdAt, owner } = draft;
    const { reservationMs, maxTasksPerOwner, maxLiveTasksPerOwner, createsPerMinute } = this.limits;
    return {
      id,
      tool,
      contextId,
      origin,
      createdAt,
      deadline: this.clock() + reservationMs,
      // Anonymous callers share nothing, keys included; their rows do not even lie in one index.
      idempotency: owner === null ? null : idempotency,
      maxStored: maxTasksPerOwner,
      maxLive: maxLiveTasksPerOwner,
      // Anonymous rows lie together by chance: their rate is counted by address, before this.
      maxPerMinute: owner === null ? Number.MAX_SAFE_INTEGER : createsPerMinute,
    };
  }
}

function rowOf({ id, createdAt, tool, contextId, origin, stage, statusAt }: TaskSnapshot): TaskListRow {
  const outcome = stage.phase === "settled" ? stage.outcome.kind : null;
  return { id, createdAt, tool, contextId, origin, phase: stage.phase, outcome, statusAt };
}
