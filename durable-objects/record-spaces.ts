import type { Namespace } from "../src/record/record";
import type { RecordKey } from "../src/service/record-store";
import type { Examined } from "../src/service/task-index";
import { mintedId } from "./minted-id";
import { RECORD_SHARDS, recordIndexName, recordName, recordShard, recordSpaceOf, type RecordSpace } from "./names";
import { recordStub } from "./record-rpc";
import type { StorageBindings } from "./rpc";

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

/** What became of a row of an index of records. */
export async function examineRecord(
  objects: StorageBindings,
  index: string,
  id: string,
  retentionMs: number,
): Promise<Examined> {
  const space = recordSpaceOf(index);
  if (!space) throw new Error("The name of an index of records was expected.");
  const examined = await recordStub(objects, objectOf(objects, space, id)).examine(index, retentionMs);
  return { ...examined, id };
}
