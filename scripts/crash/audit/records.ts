import { isFinal, type KnownRecord, type RecordSeen } from "../record-book.ts";
import { findings } from "./evidence.ts";
import type { RecordOnDisk, Storage } from "./storage.ts";

/** At any instant a record is stored as its clients were told, or later, until it was removed or has expired. */
export const recordsKept = findings("records are kept", function* ({ storage, journal, now }) {
  const stored = new Map(storage.records.map((record) => [`${record.namespace}/${record.id}`, record]));
  for (const [name, known] of journal.records.all) {
    const record = stored.get(name);
    if (!record || record.version === null) {
      if (!journal.records.mayBeGone(known, now)) yield `The record ${name} was acknowledged, and is not stored.`;
      continue;
    }
    const { version, final, removed } = known;
    if (removed === "yes") yield `The record ${name} was removed, and is stored.`;
    if (record.version < version)
      yield `The record ${name} was seen at version ${version}, and is at ${record.version}.`;
    if (final !== null && isFinal(final) && record.status !== final)
      yield `The record ${name} was seen ${final}, and is stored ${record.status}.`;
    yield* changedDocuments(name, known, record);
  }
});

/** What was told of a version is what is stored of it, and nothing is stored that nobody saved. */
function* changedDocuments(name: string, { texts, saves }: KnownRecord, record: RecordOnDisk): Generator<string> {
  for (const [version, text] of record.documents ?? []) {
    const told = texts.get(version);
    const document = told === undefined ? null : JSON.stringify((JSON.parse(told) as RecordSeen).document);
    const stored = JSON.stringify(JSON.parse(text || "null"));
    if (document !== null && document !== stored)
      yield `The record ${name} was told to be ${document} at version ${version}, and ${stored} is stored.`;
    if (saves.size > 0 && !saves.has(stored)) yield `The record ${name} has ${stored}, which nobody saved.`;
  }
}

/** At any instant a record has a row where its object says, which knows nothing that is not so. */
export const recordRows = findings("a row to each record", function* ({ storage }) {
  const rows = rowsByMark(storage);
  for (const { namespace, id, version, index, mark } of storage.records) {
    if (version === null) continue;
    const row = rows.get(`${index} ${mark}`);
    if (!row) yield `The record ${namespace}/${id} has no row in ${index}.`;
    else if (row.version > version)
      yield `The row of ${namespace}/${id} is at version ${row.version}, and the record only at ${version}.`;
  }
});

/** At rest a row has a record and shows its status, nobody is owed anything, and what has expired is gone. */
export const recordsAtRest = findings("a record to each row", function* ({ storage, now }) {
  const marks = new Map(storage.records.map((record) => [record.mark, record]));
  for (const { name, rows } of storage.indexes) {
    for (const { id, mark, version, status } of rows) {
      if (mark === null) continue;
      const record = marks.get(mark);
      if (!record) yield `The row of ${id} in ${name} (version ${version}) has no record.`;
      else if ((record.status ?? "") !== status)
        yield `The row of ${id} in ${name} says "${status}", and the record "${record.status}".`;
    }
  }
  for (const { namespace, id, version, expiresAt } of storage.records) {
    if (version === null) yield `The record ${namespace}/${id} was removed, and its remains are stored.`;
    else if (expiresAt !== null && expiresAt <= now) yield `The record ${namespace}/${id} expired, and is stored.`;
  }
});

const rowsByMark = ({ indexes }: Storage) =>
  new Map(indexes.flatMap(({ name, rows }) => rows.map((row) => [`${name} ${row.mark}`, row] as const)));
