import type { Owner } from "../src/task/task";

/** Constant for the life of a deployment: a name's shard must not change while rows lie in it. */
export const DIRECTORY_SHARDS = 8;
const ANONYMOUS_SHARDS = 16;

/**
 * The name of the index object a task's row lies in. Anonymous tasks belong to nobody and have no list, so theirs
 * spread over a constant number of objects by task id.
 */
export const ownerIndexName = (namespace: string, owner: Owner, id: string): string =>
  JSON.stringify(owner === null ? [namespace, null, hash(id) % ANONYMOUS_SHARDS] : [namespace, owner]);

/** Where records lie: a namespace, and in one whose owners are apart one owner's ids (null elsewhere, and for nobody). */
export type RecordSpace = { readonly namespace: string; readonly space: string | null };

/**
 * The name of the index object of a space. Nobody's space also has shards, for ids that are minted: they are found
 * without an index. Three parts or more, the second a text: no name of a task's index is like that.
 */
export const recordIndexName = ({ namespace, space }: RecordSpace, shard?: number): string =>
  JSON.stringify(shard === undefined ? ["record", namespace, space] : ["record", namespace, space, shard]);

export const RECORD_SHARDS: readonly number[] = Array.from({ length: ANONYMOUS_SHARDS }, (_, shard) => shard);

export const recordShard = (id: string): number => hash(id) % ANONYMOUS_SHARDS;

/** The space whose index is called so; null when it is an index of tasks. */
export function recordSpaceOf(indexName: string): RecordSpace | null {
  const [kind, namespace, space] = JSON.parse(indexName) as [string, unknown, string | null | undefined];
  return kind === "record" && typeof namespace === "string" && space !== undefined ? { namespace, space } : null;
}

/** The name of a record's object, where the caller made its id: any two ids have two names. */
export const recordName = ({ namespace, space }: RecordSpace, id: string): string =>
  JSON.stringify([namespace, space, id]);

/** The object that counts what an anonymous caller's address begins. */
export const addressName = (address: string): string => JSON.stringify(["address", address]);

/** Which directory shard keeps the due time of an index object. */
export const directoryShard = (ownerIndex: string): number => hash(ownerIndex) % DIRECTORY_SHARDS;

export const directoryName = (shard: number): string => `directory-${shard}`;

/** FNV-1a over UTF-16 units, 32 bits: spreads names, protects nothing. */
function hash(text: string): number {
  let hashed = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hashed = Math.imul(hashed ^ text.charCodeAt(at), 0x01000193);
  return hashed >>> 0;
}
