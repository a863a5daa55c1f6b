import { DOCUMENT, longTexts, shortFacts, toRecord, type Slot } from "../record/record-texts";
import { recordExpiresAt, type Namespace, type RecordEntry, type StoredRecord } from "../record/record";
import { LOG_LIMIT } from "../service/task-shelf";
import { fromPieces, toPieces } from "./long-text";
import { recordSql } from "./record-sql";
import { newRev } from "./task-rows";

/** A record as it was read, and the write that had made it so. */
export type KeptRecord = { readonly n: number; readonly rev: string; readonly record: StoredRecord };

type Row = { n: number; rev: string; facts: string };
type TextRow = { slot: Slot; escaped: 0 | 1; text: string };

/** What there is to find a record by. */
export type RecordPlace =
  | { readonly by: "key"; readonly namespace: string; readonly space: string; readonly id: string }
  | { readonly by: "mint"; readonly namespace: string; readonly id: string }
  | { readonly by: "number"; readonly n: number };

/** The two statements that load a record; `fromRecordResults` takes what they found. */
export function loadingRecord(db: D1Database, place: RecordPlace): readonly D1PreparedStatement[] {
  switch (place.by) {
    case "key": {
      const values = [place.namespace, place.space, place.id];
      return [db.prepare(recordSql.rowByKey).bind(...values), db.prepare(recordSql.textsByKey).bind(...values)];
    }
    case "mint": {
      const values = [place.namespace, place.id];
      return [db.prepare(recordSql.rowByMint).bind(...values), db.prepare(recordSql.textsByMint).bind(...values)];
    }
    case "number":
      return [db.prepare(recordSql.rowByNumber).bind(place.n), db.prepare(recordSql.textsByNumber).bind(place.n)];
  }
}

/** Throws for what is no record. */
export function fromRecordResults(rows: readonly unknown[], texts: readonly unknown[]): KeptRecord | null {
  const [row] = rows as readonly Row[];
  if (!row) return null;
  const pieces = Map.groupBy(texts as readonly TextRow[], ({ slot }) => slot);
  const whole = new Map(
    [...pieces].map(([slot, parts]) => [
      slot,
      fromPieces({ escaped: parts[0]?.escaped ?? 0, parts: parts.map(({ text }) => text) }),
    ]),
  );
  if (!whole.has(DOCUMENT)) throw new Error("Its document is missing.");
  return { n: row.n, rev: row.rev, record: toRecord(JSON.parse(row.facts) as StoredRecord, whole) };
}

/** What a record is found by beside its key, and when it goes. */
export function columnsOf(record: StoredRecord, retentionMs: number) {
  return {
    status: record.task?.status ?? "",
    seq: record.seq,
    expiresAt: recordExpiresAt(record, retentionMs),
    fadesAt: record.ttlMs === null ? record.settledAt : null,
    facts: JSON.stringify(shortFacts(record)),
  };
}

/** What is beside the row of a new record: it counts only once the row is there. */
export function storingRecord(
  db: D1Database,
  place: readonly [namespace: string, space: string, id: string, rev: string],
  record: StoredRecord,
  entries: readonly RecordEntry[],
): readonly D1PreparedStatement[] {
  return [
    ...textRows(longTexts(record)).map((row) => db.prepare(recordSql.firstText).bind(...row, ...place)),
    ...entryRows(entries).map((row) => db.prepare(recordSql.firstEntry).bind(...row, ...place)),
  ];
}

/** The statements that write a record over what was read of it; the first one returns a row if it was still so. */
export function writingRecord(
  db: D1Database,
  { n, rev: before, record: old }: KeptRecord,
  record: StoredRecord,
  entries: readonly RecordEntry[],
  { kind, revisions }: Namespace,
  retentionMs: number,
): readonly D1PreparedStatement[] {
  const rev = newRev();
  const { status, seq, expiresAt, fadesAt, facts } = columnsOf(record, retentionMs);
  const written = [n, rev] as const;
  const texts = longTexts(record);
  const known = longTexts(old);
  const stale = [...known.keys()].filter((slot) => known.get(slot) !== texts.get(slot));
  const fresh = [...texts].filter(([slot, text]) => known.get(slot) !== text);
  // Each save is a revision, also one that changed nothing of the document: the one before becomes an earlier save.
  const saves =
    kind === "document"
      ? [
          db.prepare(recordSql.keepRevision).bind(old.version, old.updatedAt, n, ...written),
          db.prepare(recordSql.dropRevisions).bind(n, record.version - revisions, ...written),
        ]
      : [];
  return [
    db.prepare(recordSql.update).bind(rev, status, seq, expiresAt, fadesAt, facts, n, before),
    ...saves,
    ...stale.map((slot) => db.prepare(recordSql.removeText).bind(n, slot, ...written)),
    ...textRows(new Map(fresh)).map((row) => db.prepare(recordSql.addText).bind(n, ...row, ...written)),
    ...entryRows(entries).map((row) => db.prepare(recordSql.addEntry).bind(n, ...row, ...written)),
    db.prepare(recordSql.dropEntries).bind(n, record.seq - LOG_LIMIT, ...written),
  ];
}

const textRows = (texts: ReadonlyMap<Slot, string>) =>
  [...texts].flatMap(([slot, text]) => {
    const { escaped, parts } = toPieces(text);
    return parts.map((piece, part) => [slot, part, escaped, piece] as const);
  });

/** JSON is well-formed, and has no NUL. */
const entryRows = (entries: readonly RecordEntry[]) =>
  entries.flatMap((entry) =>
    toPieces(JSON.stringify(entry)).parts.map((piece, part) => [entry.seq, part, piece] as const),
  );
