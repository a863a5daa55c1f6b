import type { Namespace } from "../src/record/record";
import type { RecordKey } from "../src/service/record-store";
import type { Examined } from "../src/service/task-index";
import { mintedId } from "./minted-id";
import type { DurableRecordStoreParts } from "./durable-record-store";
import { RECORD_SHARDS, recordIndexName, recordName, recordShard, type RecordSpace } from "./names";
import { calling } from "./object-call";
import { recordIndexStub, recordStub } from "./record-rpc";
import type { StorageBindings } from "./rpc";
import { examineRows } from "./sweep";

/** The object of a record, whether or not there is one. */
export const objectOf = (objects: StorageBindings, space: RecordSpace, id: string): DurableObjectId =>
  mintedId(objects.RECORDS, id) ?? objects.RECORDS.idFromName(recordName(space, id));

export const spaceOf = ({ namespace, space }: Pick<RecordKey, "namespace" | "space">): RecordSpace => ({
  namespace: namespace.name,
  space,
});

/** Where owners are apart, the records of nobody. */
const isNobodys = (namespace: Namespace, space: string | null): boolean =>
  namespace.owners === "separate" && space === null;

/**
 * The index in which a new record gets its row. Nobody's spread over the shards, unless they are to be counted: a cap
 * is exact because it is kept by one object.
 */
export const indexForNew = ({ namespace, space, id }: RecordKey, isMinted: boolean, isCapped: boolean): string =>
  isMinted && !isCapped && isNobodys(namespace, space)
    ? recordIndexName(spaceOf({ namespace, space }), recordShard(id))
    : recordIndexName(spaceOf({ namespace, space }));

/** All indexes that have rows of a space. */
export const indexesOf = (namespace: Namespace, space: string | null): readonly string[] =>
  [undefined, ...(isNobodys(namespace, space) ? RECORD_SHARDS : [])].map((shard) =>
    recordIndexName(spaceOf({ namespace, space }), shard),
  );

/** What became of a row of the index of a space. */
export async function examineRecord(
  objects: StorageBindings,
  space: RecordSpace,
  index: string,
  id: string,
  retentionMs: number,
): Promise<Examined> {
  const examined = await recordStub(objects, objectOf(objects, space, id)).examine(index, retentionMs);
  return { ...examined, id };
}

/** What the sweep would do to some rows of an index, now. */
export async function collectRecords(
  { objects, clock }: Pick<DurableRecordStoreParts, "objects" | "clock">,
  space: RecordSpace,
  index: string,
  rows: Parameters<typeof examineRows>[0],
  retentionMs: number,
) {
  const { examined, unanswered } = await examineRows(rows, (id) =>
    examineRecord(objects, space, index, id, retentionMs),
  );
  return calling(() => recordIndexStub(objects, index).swept(examined, clock(), unanswered));
}
