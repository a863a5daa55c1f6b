import type { Examined, Mirror, Reservation, Reserved } from "../src/service/task-index";
import type { TaskListPage, TaskListQuery, TaskListRow } from "../src/service/task-store";
import { ownerIndexSql, ownerIndexUpgrades } from "./owner-index-sql";
import { Schema } from "./schema";

/** How long a row that could not be examined, or that was set going again, is left alone. */
const SECOND_LOOK_MS = 60_000;

const MINUTE_MS = 60_000;

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);

type Row = { id: string; phase: string; version: number; deadline: number };
type KeyRow = { id: string; version: number; deadline: number; digest: string; expires_at: number | null };
type Tally = { stored: number; live: number; told: number | null; minute: number; created: number };
type ListRow = {
  id: string;
  created_at: number;
  tool: string;
  context_id: string | null;
  origin: string;
  phase: TaskListRow["phase"];
  outcome: TaskListRow["outcome"];
  status_at: number;
  version: number;
};

/**
 * The rows of one index and their counters. All of it synchronous: what is decided and what is written belong to one
 * block, or parallel calls would pass a cap between the two. Where nothing was ever reserved, asking stores nothing.
 */
export class IndexRows {
  readonly #storage: DurableObjectStorage;
  readonly #schema: Schema;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#schema = new Schema(storage, ownerIndexUpgrades);
  }

  /** One commit, or nothing. */
  transaction<T>(write: () => T): T {
    return this.#schema.transaction(write);
  }

  /** Null when the reservation may be made. */
  answer(wanted: Reservation, now: number): Reserved | null {
    const { idempotency, maxStored, maxLive, maxPerMinute } = wanted;
    const same = this.#row(wanted.id);
    if (same) return { kind: "reserved", id: same.id, deadline: same.deadline };
    const holder = idempotency && this.#query<KeyRow>("byKey", wanted.tool, idempotency.key)[0];
    if (holder && !isExpired(holder, now)) {
      if (holder.digest !== idempotency.digest) return { kind: "conflict" };
      return { kind: "existing", id: holder.id, deadline: holder.deadline, confirmed: holder.version > 0 };
    }
    const { stored, live, minute, created } = this.#tally();
    if (stored >= maxStored) return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: maxStored };
    if (live >= maxLive) return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: maxLive };
    if (minute === minuteOf(now) && created >= maxPerMinute) {
      return { kind: "rate", value: maxPerMinute, retryAfterMs: (minute + 1) * MINUTE_MS - now };
    }
    return null;
  }

  /** `due` is when the sweep shall ask what became of it. */
  insert(wanted: Reservation, due: number, now: number): Reserved {
    const { id, createdAt, tool, contextId, origin, deadline, idempotency } = wanted;
    this.#schema.create();
    if (idempotency) this.#query("freeKey", tool, idempotency.key);
    const { key, digest } = idempotency ?? { key: null, digest: null };
    this.#query("insert", id, createdAt, tool, contextId, origin, createdAt, due, deadline, key, digest);
    this.#query("countNew", minuteOf(now), minuteOf(now));
    return { kind: "reserved", id, deadline };
  }

  /** Whether the row went: it was there, and no task had confirmed it. */
  release(id: string): boolean {
    const row = this.#row(id);
    if (row?.version !== 0) return false;
    this.#remove(row);
    return true;
  }

  /** Whether a row is there and knows only an older version. */
  isBehind({ id, version }: Mirror): boolean {
    const row = this.#row(id);
    return row !== undefined && version > row.version;
  }

  /** Whether it was news. */
  apply(mirror: Mirror): boolean {
    const row = this.#row(mirror.id);
    if (!row || mirror.version <= row.version) return false;
    this.#write(row, mirror, mirror.due);
    return true;
  }

  /** What examining a row came to. */
  takeIn(found: Examined, now: number): "removed" | "dropped" | "changed" | null {
    const row = this.#row(found.id);
    if (!row) return null;
    if (!found.found) {
      this.#remove(row);
      return row.version === 0 ? "dropped" : "removed";
    }
    const { due, version } = found.mirror;
    if (version < row.version) return null;
    // Looked at just now: still due, it is not looked at again at once.
    this.#write(row, found.mirror, due !== null && due <= now ? now + SECOND_LOOK_MS : due);
    return version > row.version ? "changed" : null;
  }

  postpone(id: string, now: number): void {
    this.#query("postpone", now + SECOND_LOOK_MS, id);
  }

  list(query: TaskListQuery, now: number): TaskListPage & { readonly reserved: readonly string[] } {
    const after = query.after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
    const found = this.#query<ListRow>("list", after.createdAt, after.id, now, query.limit + 1);
    const page = found.slice(0, query.limit);
    const reserved = page.filter((row) => row.version === 0).map((row) => row.id);
    return { rows: page.map(toListRow), more: found.length > query.limit, reserved };
  }

  due(now: number, limit: number): readonly { readonly id: string; readonly confirmed: boolean }[] {
    const rows = this.#query<{ id: string; version: number }>("due", now, limit);
    return rows.map(({ id, version }) => ({ id, confirmed: version > 0 }));
  }

  nextDue(): number | null {
    return this.#query<{ due: number | null }>("nextDue")[0]?.due ?? null;
  }

  isEmpty(): boolean {
    return this.#tally().stored === 0;
  }

  /** By when the directory expects something here, as far as it was told. */
  told(): number | null {
    return this.#tally().told;
  }

  tell(due: number | null): void {
    this.#query("tell", due);
  }

  /** Nothing left, nothing behind. */
  async wipe(): Promise<void> {
    if (this.#schema.exists()) await this.#schema.wipe();
  }

  #write(row: Row, { id, version, phase, outcome, statusAt, expiresAt }: Mirror, due: number | null): void {
    this.#query("mirror", version, phase, outcome, statusAt, due, expiresAt, id);
    if (row.phase !== "settled" && phase === "settled") this.#query("count", 0, -1);
  }

  #remove(row: Row): void {
    this.#query("remove", row.id);
    this.#query("count", -1, row.phase === "settled" ? 0 : -1);
  }

  #row(id: string): Row | undefined {
    return this.#query<Row>("byId", id)[0];
  }

  #tally(): Tally {
    return this.#query<Tally>("tally")[0] ?? { stored: 0, live: 0, told: null, minute: 0, created: 0 };
  }

  #query<T extends Record<string, SqlStorageValue>>(
    statement: keyof typeof ownerIndexSql,
    ...values: (string | number | null)[]
  ): T[] {
    if (!this.#schema.exists()) return [];
    return this.#storage.sql.exec<T>(ownerIndexSql[statement], ...values).toArray();
  }
}

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
