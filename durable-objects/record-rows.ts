import type { Reservation } from "../src/service/task-index";
import type { IndexRows } from "./index-rows";
import type { ownerIndexSql } from "./owner-index-sql";
import type { RecordReserved, RecordRow, RecordRowQuery, SettledRow } from "./record-rpc";

/** Before the first row, newest first. */
const NEWEST = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

/** What an index says about records that it does not say about tasks: their ids are callers', and lists have filters. */
export class RecordRows {
  readonly #rows: IndexRows;

  constructor(rows: IndexRows) {
    this.#rows = rows;
  }

  /** Null when the reservation may be made. The key comes first: its caller may have made another id this time. */
  answer(wanted: Reservation, now: number): RecordReserved | null {
    const holder = this.#rows.holder(wanted, now);
    if (holder === "conflict") return { kind: "conflict" };
    const found = holder ?? this.#rows.row(wanted.id);
    if (!found) return this.#rows.refusal(wanted, now);
    const { id, deadline, version } = found;
    // Every record's row has one.
    const mark = found.mark ?? "";
    return { kind: holder ? "existing" : "listed", id, deadline, mark, confirmed: version > 0 };
  }

  has(id: string): boolean {
    return this.#rows.row(id) !== undefined;
  }

  /** Newest first, one more than asked for when there are more. Each filter is a walk along an index of its own. */
  list({ owners, statuses, limit, after = NEWEST }: RecordRowQuery, now: number): readonly RecordRow[] {
    const place = [after.createdAt, after.id, now, limit + 1] as const;
    if (owners) {
      const walks = owners.flatMap((owner) =>
        statuses.map((status) => this.#walk("recordsByOwner", owner, status, ...place)),
      );
      return newest(walks.flat()).slice(0, limit + 1);
    }
    if (statuses.length === 1) return this.#walk("recordsByStatus", ...statuses, ...place);
    return this.#walk("list", ...place);
  }

  settledBefore(before: number, limit: number, after?: SettledRow): readonly SettledRow[] {
    const from = after ?? { settledAt: Number.MIN_SAFE_INTEGER, id: "" };
    return this.#rows.query<SettledRow>("settledBefore", before, from.settledAt, from.id, limit);
  }

  #walk(statement: keyof typeof ownerIndexSql, ...values: (string | number)[]): readonly RecordRow[] {
    return this.#rows.query<RecordRow>(statement, ...values).map(({ id, createdAt }) => ({ id, createdAt }));
  }
}

/** Newest first by (createdAt, id). */
export const newest = (rows: readonly RecordRow[]): readonly RecordRow[] =>
  rows.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
