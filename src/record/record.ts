import type { JsonText } from "../task/json";

/** The statuses of the store contracts; the last three are final. */
export const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;

export type RecordStatus = (typeof STATUSES)[number];

export const isTerminal = (status: RecordStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** What a record in a `task` namespace has beside its document. Values that are the caller's are JSON text, verbatim. */
export type TaskFields = {
  readonly status: RecordStatus;
  readonly statusMessage: string | null;
  /** ms. */
  readonly pollIntervalMs: number | null;
  /** A JSON object each: what is asked and not answered, and every answer received so far. */
  readonly inputRequests: JsonText;
  readonly inputResponses: JsonText;
  readonly result: JsonText | null;
  readonly error: JsonText | null;
};

/** A task or a document that a server elsewhere keeps here. Times are Unix ms, durations ms. */
export type StoredRecord = {
  readonly id: string;
  readonly namespace: string;
  /** Whose it is, in the words of whoever stored it; null for nobody's. Never changes. */
  readonly owner: string | null;
  /** One more for each write. */
  readonly version: number;
  readonly createdAt: number;
  /** Never goes back. */
  readonly updatedAt: number;
  /** When its status became final. */
  readonly settledAt: number | null;
  /** From creation; null is unlimited. */
  readonly ttlMs: number | null;
  /** Null in a `document` namespace. */
  readonly task: TaskFields | null;
  /** A JSON object, verbatim and never read: whatever its keys are called. */
  readonly document: JsonText;
  /** The `seq` of the newest entry of its log. */
  readonly seq: number;
};

/** What a namespace is for; `STORE_NAMESPACES` names them. */
export type Namespace = {
  readonly name: string;
  /** `task`: the machine's rules hold. `document`: whole documents, each save a revision. */
  readonly kind: "task" | "document";
  /**
   * `separate`: each owner's ids are its own, and clients call for themselves. The others have one set of ids, are kept
   * by servers (workers), and the call says for whom it is: `strict` only the very owner sees a record, `lenient` also
   * nobody sees all and all see nobody's, `none` does not ask.
   */
  readonly owners: "separate" | "strict" | "lenient" | "none";
  /** What `ttlMs: 0` means. */
  readonly zeroTtl: "expires" | "never";
  /** Whether it can be listed, by others than admins. */
  readonly list: boolean;
  /** Saves kept of a document, the newest among them. */
  readonly revisions: number;
};

/** For whom a call is. `any` asks no owner. */
export type Asker = { readonly kind: "any" } | { readonly kind: "owner"; readonly owner: string | null };

/** One line of a record's ordered log. */
export type RecordEntry = {
  /** From 1, without gaps; a bounded number of the newest is kept. */
  readonly seq: number;
  readonly at: number;
  /** The record's version with it. */
  readonly version: number;
  readonly event:
    | { readonly kind: "created" | "written" | "cancelled"; readonly status: RecordStatus | null }
    | { readonly kind: "asked"; readonly keys: readonly string[] }
    /** Once for each question that was answered; with its answer. */
    | { readonly kind: "answered"; readonly key: string; readonly response: JsonText };
};

export type Revision = { readonly version: number; readonly at: number; readonly document: JsonText };

/** When a record stops being readable, or null for never. `retentionMs` rules final tasks without a ttl. */
export function recordExpiresAt(record: StoredRecord, retentionMs: number): number | null {
  if (record.ttlMs !== null) return record.createdAt + record.ttlMs;
  return record.settledAt === null ? null : record.settledAt + retentionMs;
}

export function isRecordExpired(record: StoredRecord, now: number, retentionMs: number): boolean {
  const at = recordExpiresAt(record, retentionMs);
  return at !== null && now >= at;
}

/** Whether the asker may see it, by the namespace's rule. In a `separate` one, who gets here named the very owner. */
export function mayAsk(record: StoredRecord, asker: Asker, { owners }: Namespace): boolean {
  if (asker.kind === "any" || owners === "none" || asker.owner === record.owner) return true;
  return owners === "lenient" && (asker.owner === null || record.owner === null);
}
