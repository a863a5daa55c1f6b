import type { JsonText } from "../task/json";
import type { RecordEntry, RecordStatus, StoredRecord, TaskFields } from "./record";

/** What a record is created with. */
export type RecordContent = {
  /** Null in a `document` namespace. */
  readonly task: TaskFields | null;
  readonly document: JsonText;
  readonly ttlMs: number | null;
};

/** What replaces it: all of it, but for the status and the ttl, which stay when they are left out. */
export type RecordReplacement = {
  readonly task: (Omit<TaskFields, "status"> & Partial<Pick<TaskFields, "status">>) | null;
  readonly document: JsonText;
  readonly ttlMs?: number | null;
};

/** Fields to set; what is left out stays. Members of `document` are set one by one, at the top level. */
export type RecordChanges = {
  readonly task?: Partial<TaskFields>;
  readonly document?: JsonText;
  readonly ttlMs?: number | null;
};

/**
 * One atomic write of a record that is there. `version`: only if it is still that one; null for whatever it is.
 * `maxBytes`: refused when the record would be larger than that with it.
 */
export type RecordCommand = RecordAct & { readonly maxBytes?: number };

type RecordAct =
  /** The whole record; what the content leaves out is gone. */
  | { readonly kind: "replace"; readonly version: number | null; readonly content: RecordReplacement }
  | { readonly kind: "merge"; readonly version: number | null; readonly changes: RecordChanges }
  /** Refused when the status is final. */
  | { readonly kind: "set_status"; readonly status: RecordStatus; readonly changes: RecordChanges }
  /** A JSON object: joins what is open; the status becomes `input_required`. */
  | { readonly kind: "set_questions"; readonly requests: JsonText }
  /** A JSON object by key. What is not open is ignored; when none is left open the status becomes `working`. */
  | { readonly kind: "resolve"; readonly responses: JsonText }
  | { readonly kind: "cancel" };

/** Expected outcomes are values. The record is as it stands after the command. */
export type RecordWritten =
  | { readonly kind: "written"; readonly record: StoredRecord }
  /** It meant nothing: cancelled already, nothing of it was open, the same again. */
  | { readonly kind: "unchanged"; readonly record: StoredRecord }
  /** Somebody wrote in between: this is the record now. */
  | { readonly kind: "stale"; readonly record: StoredRecord }
  /** Its status is final. */
  | { readonly kind: "terminal"; readonly record: StoredRecord };

/** What a store answers: also that the record would have grown too large, so that nothing was written. */
export type RecordTold = RecordWritten | { readonly kind: "too_large"; readonly record: StoredRecord };

/** What a command makes of a record, and the new lines of its log: none unless it is `written`. */
export type RecordApplied = RecordTold & { readonly entries: readonly RecordEntry[] };
