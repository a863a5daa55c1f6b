import { STATUSES, type StoredRecord } from "../src/record/record";
import { longTexts } from "../src/record/record-texts";
import type { RecordPage, RecordQuery } from "../src/service/record-store";
import type { DurableRecordStoreParts } from "./durable-record-store";
import { calling } from "./object-call";
import { NO_STATUS } from "./record-mirror";
import { recordIndexStub, type RecordRowQuery } from "./record-rpc";
import { newest } from "./record-rows";
import { indexesOf } from "./record-spaces";

/** Records read at the same time: each is an object, and may be large. */
const AT_ONCE = 6;

/** A page ends early when its texts are as long as this together, in UTF-16 units. */
const PAGE_LENGTH = 4_194_304;

/** One page: the ids from the index, the records from their objects. */
export async function listRecords(
  { objects, clock }: DurableRecordStoreParts,
  query: RecordQuery,
  read: (id: string) => Promise<StoredRecord | null>,
): Promise<RecordPage> {
  const { namespace, space, status, limit, after } = query;
  const wanted: RecordRowQuery = {
    owners: ownersOf(query),
    statuses: status === undefined ? [NO_STATUS, ...STATUSES] : [status],
    limit,
    ...(after === undefined ? {} : { after }),
  };
  const indexes = indexesOf(namespace, space);
  const found = await Promise.all(
    indexes.map((index) => calling(() => recordIndexStub(objects, index).listRecords(wanted, clock()))),
  );
  const rows = newest(found.flat());
  const page = rows.slice(0, limit);
  const records: StoredRecord[] = [];
  for (let at = 0, length = 0; at < page.length; at += AT_ONCE) {
    const batch = page.slice(at, at + AT_ONCE);
    const there = (await Promise.all(batch.map(({ id }) => read(id)))).filter((record) => record !== null);
    // The index may not have heard of the newest status yet.
    records.push(...there.filter(({ task }) => status === undefined || task?.status === status));
    length += there.reduce((sum, record) => sum + lengthOf(record), 0);
    const isLast = at + AT_ONCE >= page.length;
    if (length >= PAGE_LENGTH && !isLast) return { records, next: batch.at(-1) ?? null };
  }
  return { records, next: rows.length > limit ? (page.at(-1) ?? null) : null };
}

/** Whose records the asker may see, as the index writes owners; null for all. */
function ownersOf({ namespace, asker }: RecordQuery): RecordRowQuery["owners"] {
  if (asker.kind === "any" || namespace.owners === "none" || namespace.owners === "separate") return null;
  if (namespace.owners === "strict") return [JSON.stringify(asker.owner)];
  return asker.owner === null ? null : [JSON.stringify(asker.owner), JSON.stringify(null)];
}

const lengthOf = (record: StoredRecord): number =>
  longTexts(record)
    .values()
    .reduce((sum, text) => sum + text.length, 0);
