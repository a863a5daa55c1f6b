import type { StoredRecord } from "../record/record";
import type { As, StoreApi } from "../store-api/api";

/** What takes the record's place. What it leaves out is gone, but for the status and the ttl. */
export type NextContent = Parameters<StoreApi["replace"]>[3];

/** What to make of a record, or why not. */
export type Next<E> = { readonly content: NextContent } | { readonly error: E };

export type Updated<E> =
  /** `unchanged`: it was the same already. `terminal`: its status is final, and the next one was another. */
  | { readonly kind: "written" | "unchanged" | "terminal"; readonly record: StoredRecord }
  /** By the function, of this record; nothing was written. */
  | { readonly kind: "refused"; readonly error: E; readonly record: StoredRecord };

export type UpdateOptions = {
  /** No further attempt is made once it aborts: its reason is thrown. */
  readonly signal?: AbortSignal;
  readonly random?: () => number;
  readonly sleep?: (ms: number) => Promise<void>;
};

const SHORTEST_MS = 5;
const LONGEST_MS = 500;

/**
 * Changes a record by a function of what it is now: compare-and-swap, again and again until nobody wrote in between.
 * `fn` must be pure, since it may be asked several times. Null when there is no such record for this owner.
 */
export async function update<E = never>(
  store: Pick<StoreApi, "get" | "replace">,
  namespace: string,
  id: string,
  owner: As,
  fn: (record: StoredRecord) => Next<E>,
  { signal, random = Math.random, sleep = pause }: UpdateOptions = {},
): Promise<Updated<E> | null> {
  let record = await store.get(namespace, id, owner);
  for (let attempt = 0; record !== null; attempt++) {
    signal?.throwIfAborted();
    const next = fn(record);
    if ("error" in next) return { kind: "refused", error: next.error, record };
    const written = await store.replace(namespace, id, record.version, next.content, owner);
    if (written === null) return null;
    if (written.kind !== "stale") return { kind: written.kind, record: written.record };
    record = written.record;
    if (attempt === 0) continue;
    // More than two are at it: those who met must not meet again, and what one has read grows old while it waits.
    await sleep(random() * Math.min(LONGEST_MS, SHORTEST_MS * 2 ** attempt));
    record = await store.get(namespace, id, owner);
  }
  return null;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
