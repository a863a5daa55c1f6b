import { DurableObject } from "cloudflare:workers";
import type { Examined, Mirror, Reservation, Reserved, TaskIndex } from "../src/service/task-index";
import type { OwnerFeedMessage, TaskListPage, TaskListQuery, TaskListRow } from "../src/service/task-store";
import type { Phase } from "../src/task/task";
import { broadcast, openFeed } from "./feed-socket";
import { directoryShard } from "./names";
import { ownerIndexSql, ownerIndexUpgrades } from "./owner-index-sql";
import { directoryStub, type StorageBindings } from "./rpc";
import { Schema } from "./schema";

/** The directory is told whole minutes, rounded down, so that a burst of tasks writes there once. */
const DIRECTORY_STEP_MS = 60_000;

/** A reservation's deadline is judged by the task's object; here it waits a little longer, as clocks differ. */
const CLOCK_SKEW_MS = 1_000;

/** How long a row that could not be examined, or that was set going again, is left alone. */
const SECOND_LOOK_MS = 60_000;

type Tally = { stored: number; live: number; told: number | null };
type Row = { id: string; phase: string; version: number; deadline: number };
type KeyRow = { id: string; version: number; deadline: number; digest: string; expires_at: number | null };
type ListRow = {
  id: string;
  created_at: number;
  tool: string;
  context_id: string | null;
  origin: string;
  phase: Phase;
  outcome: TaskListRow["outcome"];
  status_at: number;
  version: number;
};

/**
 * One owner's index in one namespace, or one of the anonymous shards: the caps, the list, the due times, the feed.
 * Each decision and its rows are one synchronous block, so that no number of parallel calls can pass a cap.
 */
export class OwnerIndex extends DurableObject<StorageBindings> implements TaskIndex {
  readonly #schema = new Schema(this.ctx.storage, ownerIndexUpgrades);
  /** Due times the directory is being told, whose rows are not written yet. */
  readonly #promised = new Set<{ readonly due: number; readonly told: Promise<void> }>();

  async reserve(wanted: Reservation, now: number): Promise<Reserved> {
    const known = this.#answer(wanted, now);
    if (known) return known;
    const due = wanted.deadline + CLOCK_SKEW_MS;
    return this.#afterTelling(due, () => this.#answer(wanted, now) ?? this.#insert(wanted, due));
  }

  async release(id: string): Promise<void> {
    if (this.#row(id)?.version === 0) this.ctx.storage.transactionSync(() => this.#remove(id));
  }

  async mirror(mirror: Mirror): Promise<{ readonly watched: boolean }> {
    if (this.#isNewer(mirror)) {
      await this.#afterTelling(mirror.due, () => {
        // Asked again: a newer one may have come while the directory was told.
        if (this.#isNewer(mirror)) this.#apply(mirror, mirror.due);
      });
    }
    return { watched: this.#isWatched() };
  }

  async touch(id: string, version: number, phase: Phase): Promise<{ readonly watched: boolean }> {
    this.#announce({ kind: "change", id, version, phase });
    return { watched: this.#isWatched() };
  }

  async list(query: TaskListQuery, now: number): Promise<TaskListPage & { readonly reserved: readonly string[] }> {
    if (!this.#schema.exists()) return { rows: [], more: false, reserved: [] };
    const after = query.after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
    const found = this.#query<ListRow>("list", after.createdAt, after.id, now, query.limit + 1);
    const page = found.slice(0, query.limit);
    const reserved = page.filter((row) => row.version === 0).map((row) => row.id);
    return { rows: page.map(toListRow), more: found.length > query.limit, reserved };
  }

  async due(now: number, limit: number): Promise<readonly { readonly id: string; readonly confirmed: boolean }[]> {
    if (!this.#schema.exists()) return [];
    return this.#query<{ id: string; version: number }>("due", now, limit).map(({ id, version }) => ({
      id,
      confirmed: version > 0,
    }));
  }

  async swept(
    examined: readonly Examined[],
    now: number,
    unanswered: readonly string[] = [],
  ): Promise<{ readonly removed: number; readonly dropped: number; readonly nextDue: number | null }> {
    if (!this.#schema.exists()) return { removed: 0, dropped: 0, nextDue: this.#earliest(null) };
    const result = this.ctx.storage.transactionSync(() => {
      const gone = examined.map((found) => this.#takeIn(found, now));
      for (const id of unanswered) this.#query("postpone", now + SECOND_LOOK_MS, id);
      const nextDue = this.#earliest(this.#query<{ due: number | null }>("nextDue")[0]?.due ?? null);
      if (nextDue !== this.#tally().told) this.#query("tell", nextDue);
      return { removed: count(gone, "removed"), dropped: count(gone, "dropped"), nextDue };
    });
    if (this.#tally().stored === 0 && this.#promised.size === 0) await this.#wipe();
    return result;
  }

  /** The owner's feed: a WebSocket that hibernates, so that nobody is billed for listening. */
  override async fetch(request: Request): Promise<Response> {
    return openFeed<OwnerFeedMessage>(this.ctx, request, () => ({ messages: [{ kind: "ready" }], ended: false }));
  }

  /** Listeners only listen. */
  override webSocketMessage(): void {}

  /** Nothing is kept per socket, and the platform answers the close. */
  override webSocketClose(): void {}

  /** Null when the reservation may be made. */
  #answer(wanted: Reservation, now: number): Reserved | null {
    const { idempotency, maxStored, maxLive } = wanted;
    const same = this.#row(wanted.id);
    if (same) return { kind: "reserved", id: same.id, deadline: same.deadline };
    const holder = idempotency && this.#holder(wanted.tool, idempotency.key);
    if (holder && !isExpired(holder, now)) {
      if (holder.digest !== idempotency.digest) return { kind: "conflict" };
      return { kind: "existing", id: holder.id, deadline: holder.deadline, confirmed: holder.version > 0 };
    }
    const { stored, live } = this.#tally();
    if (stored >= maxStored) return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: maxStored };
    if (live >= maxLive) return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: maxLive };
    return null;
  }

  #insert(wanted: Reservation, due: number): Reserved {
    const { id, createdAt, tool, contextId, origin, deadline, idempotency } = wanted;
    this.#schema.create();
    if (idempotency) this.#query("freeKey", tool, idempotency.key);
    const { key, digest } = idempotency ?? { key: null, digest: null };
    this.#query("insert", id, createdAt, tool, contextId, origin, createdAt, due, deadline, key, digest);
    this.#query("count", 1, 1);
    return { kind: "reserved", id, deadline };
  }

  #apply(mirror: Mirror, due: number | null): void {
    const { id, version, phase, outcome, statusAt, expiresAt } = mirror;
    const row = this.#row(id);
    if (!row) return;
    this.#query("mirror", version, phase, outcome, statusAt, due, expiresAt, id);
    if (row.phase !== "settled" && phase === "settled") this.#query("count", 0, -1);
    if (version > row.version) this.#announce({ kind: "change", id, version, phase });
  }

  #takeIn(found: Examined, now: number): "removed" | "dropped" | null {
    const row = this.#row(found.id);
    if (!row) return null;
    if (found.found) {
      const { due, version } = found.mirror;
      // Looked at just now: still due, it is not looked at again at once.
      if (version >= row.version) this.#apply(found.mirror, due !== null && due <= now ? now + SECOND_LOOK_MS : due);
      return null;
    }
    this.#remove(found.id);
    if (row.version === 0) return "dropped";
    this.#announce({ kind: "gone", id: found.id });
    return "removed";
  }

  #remove(id: string): void {
    const row = this.#row(id);
    if (!row) return;
    this.#query("remove", id);
    this.#query("count", -1, row.phase === "settled" ? 0 : -1);
  }

  /**
   * The directory first, then the row: a row it does not know of would never be swept. A time noted there without a
   * row only costs a visit. While it is told other calls come in, so `write` decides afresh, synchronously.
   */
  async #afterTelling<T>(due: number | null, write: () => T): Promise<T> {
    const promise = due === null ? null : this.#promise(floorToStep(due));
    try {
      await promise?.told;
      return this.ctx.storage.transactionSync(() => {
        const written = write();
        const { told } = this.#tally();
        if (promise && this.#schema.exists() && (told === null || promise.due < told)) this.#query("tell", promise.due);
        return written;
      });
    } finally {
      if (promise) this.#promised.delete(promise);
    }
  }

  /** Null when the directory expects us by then anyway. Calls that wait for the same news share one message. */
  #promise(due: number): { readonly due: number; readonly told: Promise<void> } | null {
    const { told } = this.#tally();
    if (told !== null && told <= due) return null;
    const shared = [...this.#promised].find((promise) => promise.due <= due);
    const promise = { due: shared?.due ?? due, told: shared?.told ?? this.#note(due) };
    this.#promised.add(promise);
    return promise;
  }

  async #note(due: number): Promise<void> {
    const name = this.ctx.id.name;
    if (name === undefined) throw new Error("An owner's index is reached by its name only.");
    await directoryStub(this.env, directoryShard(name)).note(name, due);
  }

  /** When the directory should send the sweep here next. */
  #earliest(due: number | null): number | null {
    const times = [...this.#promised].map((promise) => promise.due);
    if (due !== null) times.push(floorToStep(due));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** An owner with nothing left leaves nothing behind. */
  async #wipe(): Promise<void> {
    this.#schema.forget();
    await this.ctx.storage.deleteAll();
  }

  #isNewer({ id, version }: Mirror): boolean {
    const row = this.#row(id);
    return row !== undefined && version > row.version;
  }

  #row(id: string): Row | undefined {
    return this.#schema.exists() ? this.#query<Row>("byId", id)[0] : undefined;
  }

  #holder(tool: string, key: string): KeyRow | undefined {
    return this.#schema.exists() ? this.#query<KeyRow>("byKey", tool, key)[0] : undefined;
  }

  #tally(): Tally {
    return (this.#schema.exists() ? this.#query<Tally>("tally")[0] : undefined) ?? { stored: 0, live: 0, told: null };
  }

  #query<T extends Record<string, SqlStorageValue>>(
    statement: keyof typeof ownerIndexSql,
    ...values: (string | number | null)[]
  ): T[] {
    return this.ctx.storage.sql.exec<T>(ownerIndexSql[statement], ...values).toArray();
  }

  #isWatched(): boolean {
    return this.ctx.getWebSockets().length > 0;
  }

  #announce(message: OwnerFeedMessage): void {
    broadcast(this.ctx, message, false);
  }
}

const floorToStep = (at: number): number => at - (at % DIRECTORY_STEP_MS);

const count = (gone: readonly (string | null)[], kind: string): number => gone.filter((one) => one === kind).length;

/** An unconfirmed row counts as held, whatever its age: only its object can say that no task was made. */
const isExpired = (row: KeyRow, now: number): boolean =>
  row.version > 0 && row.expires_at !== null && row.expires_at <= now;

const toListRow = (row: ListRow): TaskListRow => ({
  id: row.id,
  createdAt: row.created_at,
  tool: row.tool,
  contextId: row.context_id,
  origin: row.origin,
  phase: row.phase,
  outcome: row.outcome,
  statusAt: row.status_at,
});
