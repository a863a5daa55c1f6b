import type { StoredRecord } from "../record/record";
import type { RecordPage, RecordQuery } from "../service/record-store";
import { recordSql } from "./record-sql";

/** Records loaded at a time: any of them may be large. */
const AT_ONCE = 10;

/** A page ends early when its texts are as long as this together, in UTF-16 units. */
const PAGE_LENGTH = 4_194_304;

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled", ""] as const;

/** Before the first row, newest first; JSON of an id begins with a quote. */
const NEWEST = [Number.MAX_SAFE_INTEGER, ""] as const;

type Row = { n: number; created_at: number; id: string };

/** One page: which records by an index that fits the filters, then the records. */
export async function pageOf(
  db: D1Database,
  query: RecordQuery,
  now: number,
  load: (numbers: readonly number[]) => Promise<readonly StoredRecord[]>,
): Promise<RecordPage> {
  const { limit } = query;
  const found = await db.batch<Row>(walks(db, query, now));
  const rows = found
    .flatMap(({ results }) => results)
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
  const page = rows.slice(0, limit);
  const records: StoredRecord[] = [];
  for (let at = 0, length = 0; at < page.length; at += AT_ONCE) {
    const some = page.slice(at, at + AT_ONCE);
    const loaded = await load(some.map(({ n }) => n));
    records.push(...loaded);
    length += loaded.reduce((sum, record) => sum + lengthOf(record), 0);
    if (length >= PAGE_LENGTH && at + AT_ONCE < page.length) return { records, next: placeOf(some.at(-1)) };
  }
  return { records, next: rows.length > limit ? placeOf(page.at(-1)) : null };
}

function walks(db: D1Database, query: RecordQuery, now: number): D1PreparedStatement[] {
  const { namespace, space, status, limit, after } = query;
  const place = [namespace.name, JSON.stringify(space)] as const;
  const from = after ? ([after.createdAt, JSON.stringify(after.id)] as const) : NEWEST;
  const until = [...from, now, limit + 1] as const;
  const owners = ownersOf(query);
  if (owners) {
    return owners.flatMap((owner) =>
      (status === undefined ? STATUSES : [status]).map((one) =>
        db.prepare(recordSql.listByOwner).bind(...place, JSON.stringify(owner), one, ...until),
      ),
    );
  }
  return status === undefined
    ? [db.prepare(recordSql.list).bind(...place, ...until)]
    : [db.prepare(recordSql.listByStatus).bind(...place, status, ...until)];
}

/** Whose records the asker may see; null for all that lie there. */
function ownersOf({ namespace, asker }: RecordQuery): readonly (string | null)[] | null {
  if (asker.kind === "any" || namespace.owners === "none" || namespace.owners === "separate") return null;
  if (namespace.owners === "strict") return [asker.owner];
  return asker.owner === null ? null : [asker.owner, null];
}

const placeOf = (row: Row | undefined): RecordPage["next"] =>
  row ? { createdAt: row.created_at, id: JSON.parse(row.id) as string } : null;

const lengthOf = ({ document, task }: StoredRecord): number =>
  [document, task?.inputRequests, task?.inputResponses, task?.result, task?.error].reduce(
    (sum, text) => sum + (text?.length ?? 0),
    0,
  );
