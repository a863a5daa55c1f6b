import type { RecordCommand, RecordContent, RecordTold } from "../record/command";
import type { Asker, Namespace, RecordEntry, RecordStatus, Revision, StoredRecord } from "../record/record";
import type { IdempotencyKey } from "./task-store";

/**
 * Names one record: in its namespace, and in a `separate` one in its owner's ids. `space` is null elsewhere, and for a
 * minted id that is all the caller knows: such a one is found without its owner, and is used once in a namespace.
 */
export type RecordKey = { readonly namespace: Namespace; readonly space: string | null; readonly id: string };

export type RecordCreated =
  | { readonly kind: "created"; readonly record: StoredRecord }
  /** The idempotency key was used before with the same body: this is that record. */
  | { readonly kind: "existing"; readonly record: StoredRecord }
  /** The id is in use. */
  | { readonly kind: "taken" }
  /** The idempotency key was used before with another body. */
  | { readonly kind: "conflict" }
  | { readonly kind: "rate"; readonly value: number; readonly retryAfterMs: number }
  | { readonly kind: "limit"; readonly limit: string; readonly value: number };

export type RecordQuery = {
  readonly namespace: Namespace;
  readonly space: string | null;
  readonly asker: Asker;
  readonly status?: RecordStatus;
  readonly limit: number;
  /** Strictly older than this: newest first by (createdAt, id). */
  readonly after?: { readonly createdAt: number; readonly id: string };
};

export type RecordPage = {
  readonly records: readonly StoredRecord[];
  /** Where the next page begins; null for the last. May come with a page that is not full. */
  readonly next: { readonly createdAt: number; readonly id: string } | null;
};

/**
 * Where records are kept. One behaviour suite (src/kit) runs over every implementation. Missing, foreign and expired are
 * null, all alike. An id nobody stored wakes nothing and leaves nothing behind.
 */
export interface RecordStore {
  /** A fresh unguessable id, 43 characters. Stores nothing. */
  mint(): string;
  /**
   * Stores a record that is not there. When it resolves, `read` finds it from anywhere. `maxRows` is a cap for this call,
   * null for none; exact under any number of parallel calls. `createdAt` of the record is the store's clock.
   */
  create(
    key: RecordKey,
    owner: string | null,
    content: RecordContent,
    options: { readonly maxRows: number | null; readonly idempotency: IdempotencyKey | null },
  ): Promise<RecordCreated>;
  read(key: RecordKey, asker: Asker): Promise<StoredRecord | null>;
  /** One atomic read-modify-write. */
  write(key: RecordKey, asker: Asker, command: RecordCommand): Promise<RecordTold | null>;
  /** Whether it was there. Waiting readers of its log are let go first. */
  remove(key: RecordKey, asker: Asker): Promise<boolean>;
  /** Entries with `seq > after`, in order, at most `limit`. */
  entries(key: RecordKey, asker: Asker, after: number, limit: number): Promise<readonly RecordEntry[] | null>;
  /** The same, and then each new one until the signal aborts or the record is gone. */
  watch(key: RecordKey, asker: Asker, after: number, signal: AbortSignal): Promise<AsyncIterable<RecordEntry> | null>;
  /** The kept saves of a document, newest first. */
  revisions(key: RecordKey, asker: Asker): Promise<readonly Revision[] | null>;
  list(query: RecordQuery): Promise<RecordPage>;
  /**
   * Removes what has expired; final tasks without a ttl once they are older than `defaultTtlMs`. At most `budget` records
   * are looked at; `more` says that some are left. Counts what really went.
   */
  cleanup(
    namespace: Namespace,
    space: string | null,
    defaultTtlMs: number,
    budget: number,
  ): Promise<{ readonly removed: number; readonly more: boolean }>;
  /** For the cron, where nothing else collects what has expired: looks at so many records, and counts what went. */
  sweep?(budget: number): Promise<number>;
}
