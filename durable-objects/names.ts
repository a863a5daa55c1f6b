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
