// What a record's object and the index of a space of records offer each other and the store, as types: see rpc.ts.
import type { RecordCommand, RecordContent, RecordTold } from "../src/record/command";
import type { Asker, RecordEntry, Revision, StoredRecord } from "../src/record/record";
import type { RecordKey } from "../src/service/record-store";
import type { Examined, Reservation, Reserved, TaskIndex } from "../src/service/task-index";
import type { Attachable, StorageBindings } from "./rpc";

/** Where a record lies, and which life of its id it is. */
export type RecordPlace = {
  /** The name of the index object that has its row. */
  readonly index: string;
  readonly mark: string;
  /** Fresh for each attempt to create it: whoever repeats a call is told that it was the one. */
  readonly attempt: string;
};

export type NewRecord = RecordPlace & {
  readonly key: RecordKey;
  readonly owner: string | null;
  readonly content: RecordContent;
  /** From then on nothing is stored. */
  readonly deadline: number;
};

export type RecordMade =
  | { readonly kind: "created"; readonly record: StoredRecord }
  /** A record of the same space is there, or was until now: it may have expired, or not be quite gone. */
  | { readonly kind: "taken" }
  /** A record of another space is there: only the id of one that was minted can lead to it. */
  | { readonly kind: "foreign" }
  | { readonly kind: "late" };

/** Which record is asked for, and for whom. */
export type RecordAsk = { readonly key: RecordKey; readonly asker: Asker };

/** A record's object has the port but for `watch`, which is its `fetch`. */
export interface RecordCalls {
  create(made: NewRecord): Promise<RecordMade>;
  read(ask: RecordAsk): Promise<StoredRecord | null>;
  write(ask: RecordAsk, command: RecordCommand): Promise<RecordTold | null>;
  remove(ask: RecordAsk): Promise<boolean>;
  entries(ask: RecordAsk, after: number, limit: number): Promise<readonly RecordEntry[] | null>;
  revisions(ask: RecordAsk): Promise<readonly Revision[] | null>;
  /** For the index of this name: collects what has expired, with this retention, and says where the record stands. */
  examine(index: string, retentionMs: number): Promise<Examined>;
}

export type RecordReserved =
  | { readonly kind: "reserved"; readonly id: string; readonly deadline: number; readonly mark: string }
  /** There is a row: `existing` has the idempotency key, `listed` the id. */
  | {
      readonly kind: "existing" | "listed";
      readonly id: string;
      readonly deadline: number;
      readonly mark: string;
      readonly confirmed: boolean;
    }
  | Extract<Reserved, { readonly kind: "conflict" | "rate" | "limit" }>;

export type RecordRow = { readonly id: string; readonly createdAt: number };

export type RecordRowQuery = {
  /** As JSON; null for all. */
  readonly owners: readonly string[] | null;
  /** One of them, or all that there are. */
  readonly statuses: readonly string[];
  readonly limit: number;
  readonly after?: RecordRow;
};

export type SettledRow = { readonly id: string; readonly settledAt: number; readonly mark: string };

/** What the index of a space of records offers. */
export interface RecordIndexCalls extends Pick<TaskIndex, "mirror" | "due" | "swept"> {
  reserveRecord(wanted: Reservation, now: number): Promise<RecordReserved>;
  /** Gives an unconfirmed reservation of this mark back at once. */
  release(id: string, mark: string): Promise<void>;
  hasRecord(id: string): Promise<boolean>;
  /** One row more than asked for says that there are more. */
  listRecords(query: RecordRowQuery, now: number): Promise<readonly RecordRow[]>;
  /** Final records that only a retention rules, longest final first. */
  settledBefore(before: number, limit: number, after?: SettledRow): Promise<readonly SettledRow[]>;
}

export const recordIndexStub = (env: StorageBindings, name: string): RecordIndexCalls =>
  env.OWNERS.getByName(name) as unknown as RecordIndexCalls;

export const recordStub = (env: StorageBindings, id: DurableObjectId): RecordCalls & Attachable =>
  env.RECORDS.get(id) as unknown as RecordCalls & Attachable;
