import type { DueRow, Examined, Mirror, Reservation, Reserved } from "../src/service/task-index";
import { toColumn } from "./context-column";
import { ownerIndexSql, ownerIndexUpgrades } from "./owner-index-sql";
import { Schema } from "./schema";

/** How long a row that could not be examined, or that was set going again, is left alone. */
const SECOND_LOOK_MS = 60_000;

const MINUTE_MS = 60_000;

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);

export type Row = { id: string; phase: string; version: number; deadline: number; mark: string | null };
type KeyRow = Omit<Row, "phase"> & { digest: string; expires_at: number | null };
type Tally = { stored: number; live: number; told: number | null; minute: number; created: number };

/**
 * The rows of one index and their counters. All of it synchronous: what is decided and what is written belong to one
 * block, or parallel calls would pass a cap between the two. Where nothing was ever reserved, asking stores nothing.
 */
export class IndexRows extends Schema<keyof typeof ownerIndexSql> {
  /** What was made in the minute in which the index became empty: who removes all at once has used it up all the same. */
  #spent = { minute: 0, created: 0 };

  constructor(storage: DurableObjectStorage) {
    super(storage, ownerIndexUpgrades, ownerIndexSql);
  }

  /** Null when the reservation may be made. */
  answer(wanted: Reservation, now: number): Reserved | null {
    const same = this.row(wanted.id);
    if (same) return { kind: "reserved", id: same.id, deadline: same.deadline };
    const holder = this.holder(wanted, now);
    if (holder === "conflict") return { kind: "conflict" };
    if (holder) return { kind: "existing", id: holder.id, deadline: holder.deadline, confirmed: holder.version > 0 };
    return this.refusal(wanted, now);
  }

  /** The row that has the idempotency key, "conflict" when it was asked for something else; null when the key is free. */
  holder({ tool, idempotency }: Reservation, now: number): KeyRow | "conflict" | null {
    const found = idempotency && this.query<KeyRow>("byKey", tool, idempotency.key)[0];
    if (!found || isExpired(found, now)) return null;
    return found.digest === idempotency.digest ? found : "conflict";
  }

  /** What speaks against one more row. */
  refusal(
    { maxStored, maxLive, maxPerMinute }: Reservation,
    now: number,
  ): Extract<Reserved, { readonly kind: "limit" | "rate" }> | null {
    const { stored, live, minute, created } = this.#tally();
    if (stored >= maxStored) return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: maxStored };
    if (live >= maxLive) return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: maxLive };
    if (minute === minuteOf(now) && created >= maxPerMinute) {
      return { kind: "rate", value: maxPerMinute, retryAfterMs: (minute + 1) * MINUTE_MS - now };
    }
    return null;
  }

  /** `due` is when the sweep shall ask what became of it. */
  insert(wanted: Reservation, due: number, now: number): { readonly kind: "reserved"; id: string; deadline: number } {
    const { id, createdAt, tool, contextId, origin, deadline, idempotency } = wanted;
    if (!this.exists()) {
      this.create();
      this.query("spent", this.#spent.minute, this.#spent.created);
    }
    if (idempotency) this.query("freeKey", tool, idempotency.key);
    const { key, digest } = idempotency ?? { key: null, digest: null };
    const { mark, owner, status } = wanted.record ?? { mark: null, owner: null, status: null };
    const columns = [id, createdAt, tool, toColumn(contextId), origin, createdAt, due, deadline, key, digest];
    this.query("insert", ...columns, mark, owner, status, mark === null ? "submitted" : null);
    this.query("countNew", minuteOf(now), minuteOf(now));
    return { kind: "reserved", id, deadline };
  }

  /** Whether the row went: it was there, and no task had confirmed it. */
  release(id: string, mark: string | null): boolean {
    const row = this.row(id);
    if (row?.version !== 0 || row.mark !== mark) return false;
    this.#remove(row);
    return true;
  }

  /** Whether a row is there and knows only an older version. */
  isBehind(mirror: Mirror): boolean {
    const row = this.row(mirror.id);
    return row !== undefined && isOf(row, mirror) && mirror.version > row.version;
  }

  /** Whether it was news. */
  apply(mirror: Mirror): boolean {
    const row = this.row(mirror.id);
    if (!row || !isOf(row, mirror) || mirror.version <= row.version) return false;
    this.#write(row, mirror, mirror.due);
    return true;
  }

  /** What examining a row came to. */
  takeIn(found: Examined, now: number): "removed" | "dropped" | "changed" | null {
    const row = this.row(found.id);
    if (!row) return null;
    if (!found.found) {
      if (found.mark !== undefined && found.mark !== row.mark) return null;
      this.#remove(row);
      return row.version === 0 ? "dropped" : "removed";
    }
    const { due, version } = found.mirror;
    if (!isOf(row, found.mirror) || version < row.version) return null;
    // Looked at just now: still due, it is not looked at again at once.
    this.#write(row, found.mirror, due !== null && due <= now ? now + SECOND_LOOK_MS : due);
    return version > row.version ? "changed" : null;
  }

  postpone(id: string, now: number): void {
    this.query("postpone", now + SECOND_LOOK_MS, id);
  }

  due(now: number, limit: number): readonly DueRow[] {
    const rows = this.query<{ id: string; version: number; mark: string | null }>("due", now, limit);
    return rows.map(({ id, version, mark }) => ({ id, confirmed: version > 0, ...(mark === null ? {} : { mark }) }));
  }

  nextDue(): number | null {
    return this.query<{ due: number | null }>("nextDue")[0]?.due ?? null;
  }

  isEmpty(): boolean {
    return this.#tally().stored === 0;
  }

  /** By when the directory expects something here, as far as it was told. */
  told(): number | null {
    return this.#tally().told;
  }

  tell(due: number | null): void {
    this.query("tell", due);
  }

  /** Nothing left, nothing behind. */
  override async wipe(): Promise<void> {
    if (!this.exists()) return;
    const { minute, created } = this.#tally();
    this.#spent = { minute, created };
    await super.wipe();
  }

  #write(row: Row, mirror: Mirror, due: number | null): void {
    const { id, version, phase, outcome, standing, statusAt, expiresAt, record } = mirror;
    const columns = [version, phase, outcome, statusAt, due, expiresAt];
    if (record) this.query("mirrorRecord", ...columns, record.createdAt, record.status, record.settledAt, id);
    else this.query("mirror", ...columns, standing, id);
    if (row.phase !== "settled" && phase === "settled") this.query("count", 0, -1);
  }

  #remove(row: Row): void {
    this.query("remove", row.id);
    this.query("count", -1, row.phase === "settled" ? 0 : -1);
  }

  row(id: string): Row | undefined {
    return this.query<Row>("byId", id)[0];
  }

  #tally(): Tally {
    return this.query<Tally>("tally")[0] ?? { stored: 0, live: 0, told: null, ...this.#spent };
  }
}

/** Whether the news is about what this row stands for, and not about an earlier life of the same id. */
const isOf = (row: Row, mirror: Mirror): boolean => row.mark === (mirror.record?.mark ?? null);

/** An unconfirmed row counts as held, whatever its age: only its object can say that no task was made. */
const isExpired = (row: KeyRow, now: number): boolean =>
  row.version > 0 && row.expires_at !== null && row.expires_at <= now;
