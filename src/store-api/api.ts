import type { RecordChanges, RecordContent, RecordWritten } from "../record/command";
import type { RecordEntry, RecordStatus, Revision, StoredRecord, TaskFields } from "../record/record";
import type { JsonText } from "../task/json";

/** For whom: that owner (null: nobody's), or `any` without asking. Left out: the caller itself, or nobody's. */
export type As = { readonly owner?: string | null; readonly any?: true };

/** What a record begins with; what is left out gets its default: `working`, nothing asked, and null, also for the ttl. */
export type RecordDraft = {
  /** 1 to 512 characters of the caller's choice; left out, one is minted. */
  readonly id?: string;
  readonly ttlMs?: number | null;
  readonly task?: Partial<TaskFields>;
  readonly document?: JsonText;
};

export type Created =
  | { readonly kind: "created" | "existing"; readonly record: StoredRecord }
  | { readonly kind: "taken" };

/** The events of a record after a cursor. */
export type Entries = {
  readonly entries: readonly RecordEntry[];
  /** What to send as `after` next. */
  readonly cursor: number;
};

export type RecordListQuery = As & {
  readonly status?: RecordStatus;
  readonly limit?: number;
  readonly cursor?: string;
};

/**
 * The store API as a value: the same in process, over a service binding, and over HTTP. Missing, foreign and expired are
 * null. Everything else that is no success but expected is a value too; a caller's mistake and a limit reached are thrown
 * as a `TaskError`.
 */
export interface StoreApi {
  /** `maxRows`: the most records that may lie there with this one, or `too many` is thrown (`limit_reached`). */
  create(
    namespace: string,
    draft: RecordDraft,
    options?: As & { readonly maxRows?: number | null; readonly idempotencyKey?: string },
  ): Promise<Created>;
  get(namespace: string, id: string, as?: As): Promise<StoredRecord | null>;
  /** The whole record, if it is still of that version (null: whatever it is). */
  replace(
    namespace: string,
    id: string,
    version: number | null,
    content: Pick<RecordContent, "document"> & { readonly task?: Partial<TaskFields>; readonly ttlMs?: number | null },
    as?: As,
  ): Promise<RecordWritten | null>;
  merge(
    namespace: string,
    id: string,
    changes: RecordChanges,
    options?: As & { readonly version?: number | null },
  ): Promise<RecordWritten | null>;
  /** Stores the document whether it was there or not; every save is a revision. `document` namespaces only. */
  save(namespace: string, id: string, document: JsonText, as?: As): Promise<StoredRecord>;
  setStatus(
    namespace: string,
    id: string,
    status: RecordStatus,
    changes?: RecordChanges,
    as?: As,
  ): Promise<RecordWritten | null>;
  setQuestions(namespace: string, id: string, requests: JsonText, as?: As): Promise<RecordWritten | null>;
  resolve(namespace: string, id: string, responses: JsonText, as?: As): Promise<RecordWritten | null>;
  cancel(namespace: string, id: string, as?: As): Promise<RecordWritten | null>;
  /** Whether it was there. */
  remove(namespace: string, id: string, as?: As): Promise<boolean>;
  list(
    namespace: string,
    query?: RecordListQuery,
  ): Promise<{ readonly records: readonly StoredRecord[]; readonly nextCursor: string | null }>;
  /** How many records went; `more`: call again. For workers and admins. */
  cleanup(
    namespace: string,
    defaultTtlMs: number,
    as?: As,
  ): Promise<{ readonly removed: number; readonly more: boolean }>;
  /** Waits up to `waitMs` (at most 30,000) for something after the cursor; no longer than until the signal aborts. */
  events(
    namespace: string,
    id: string,
    options?: As & { readonly after?: number; readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<Entries | null>;
  /** The kept saves, newest first. For workers and admins. */
  revisions(namespace: string, id: string, as?: As): Promise<readonly Revision[] | null>;
}
