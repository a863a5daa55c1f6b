import type { Clock } from "../clock";
import type { RecordEntry, Revision, StoredRecord } from "../record/record";
import { LOG_LIMIT } from "../service/task-shelf";
import { fromPieces } from "./long-text";
import { Polling } from "./polling";
import type { KeptRecord } from "./record-rows";
import { recordSql } from "./record-sql";

/** Entries read at a time: any of them may be long. */
const AT_ONCE = 50;

/** What one answer holds, whatever was asked for, in UTF-16 units; the first is always in it. */
const PAGE_LENGTH = 4_194_304;

/** Pieces of earlier saves read at a time: each may be a megabyte. */
const PIECES_AT_ONCE = 8;

/** The kept entries with `seq > after`, in order; they have no gaps. */
export async function entriesOf(
  db: D1Database,
  n: number,
  newest: number,
  after: number,
  limit: number,
): Promise<readonly RecordEntry[]> {
  const entries: RecordEntry[] = [];
  let from = Math.max(after, newest - LOG_LIMIT);
  let length = 0;
  while (from < newest && entries.length < limit && length < PAGE_LENGTH) {
    const to = from + Math.min(AT_ONCE, limit - entries.length);
    const { results } = await db.prepare(recordSql.entries).bind(n, from, to).all<{ seq: number; text: string }>();
    for (const parts of Map.groupBy(results, ({ seq }) => seq).values()) {
      const text = parts.map((part) => part.text).join("");
      length += text.length;
      entries.push(JSON.parse(text) as RecordEntry);
    }
    from = to;
  }
  return entries;
}

/** The log from after an entry on, by looking again and again until the record is gone. */
export async function* followed(
  db: D1Database,
  n: number,
  after: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<RecordEntry, void, undefined> {
  const polling = new Polling(signal);
  let cursor = after;
  while (await polling.next()) {
    const head = await db.prepare(recordSql.head).bind(n).first<{ seq: number; expires_at: number | null }>();
    if (!head || (head.expires_at !== null && head.expires_at <= clock())) return;
    if (head.seq <= cursor) continue;
    polling.found();
    for (const entry of await entriesOf(db, n, head.seq, cursor, LOG_LIMIT)) {
      cursor = entry.seq;
      yield entry;
    }
  }
}

/** The kept saves, newest first: the record as it is, and as many earlier ones as fit one answer. */
export async function revisionsOf(db: D1Database, { n, record }: KeptRecord): Promise<readonly Revision[]> {
  const saves: Revision[] = [currentOf(record)];
  let length = record.document.length;
  let pieces: PieceRow[] = [];
  for (let before = record.version; length < PAGE_LENGTH;) {
    const { results } = await db
      .prepare(recordSql.revisions)
      .bind(n, before, PIECES_AT_ONCE + pieces.length)
      .all<PieceRow>();
    // The last may have more pieces than were read.
    const complete = results.length < PIECES_AT_ONCE + pieces.length;
    const versions = [...Map.groupBy(results, ({ version }) => version).values()];
    for (const parts of complete ? versions : versions.slice(0, -1)) {
      const save = saveOf(parts);
      before = save.version;
      length += save.document.length;
      saves.push(save);
    }
    if (complete) break;
    pieces = versions.at(-1) ?? [];
  }
  return saves;
}

type PieceRow = { version: number; at: number; escaped: 0 | 1; text: string };

const currentOf = ({ version, updatedAt, document }: StoredRecord): Revision => ({ version, at: updatedAt, document });

/** The pieces came last part first. */
function saveOf(parts: readonly PieceRow[]): Revision {
  const { version, at, escaped } = parts[0] as PieceRow;
  return { version, at, document: fromPieces({ escaped, parts: parts.map(({ text }) => text).reverse() }) };
}
