import { recordExpiresAt, type RecordStatus, type StoredRecord } from "../src/record/record";
import type { Mirror } from "../src/service/task-index";

/** In an index a document has this in the place of a status. */
export const NO_STATUS = "";

/** In the words of an index's rows, which are those of tasks. */
const STATE: { readonly [S in RecordStatus]: Pick<Mirror, "phase" | "outcome"> } = {
  working: { phase: "working", outcome: null },
  input_required: { phase: "input_required", outcome: null },
  completed: { phase: "settled", outcome: "result" },
  failed: { phase: "settled", outcome: "error" },
  cancelled: { phase: "settled", outcome: "cancelled" },
};

/** The record's row for the index of its space. */
export function recordMirror(record: StoredRecord, mark: string, retentionMs: number): Mirror {
  const { id, version, createdAt, updatedAt, settledAt, ttlMs, task } = record;
  const expiresAt = recordExpiresAt(record, retentionMs);
  const facts = { mark, createdAt, status: task?.status ?? NO_STATUS, settledAt: ttlMs === null ? settledAt : null };
  const state = STATE[task?.status ?? "working"];
  return { id, version, ...state, standing: null, statusAt: updatedAt, due: expiresAt, expiresAt, record: facts };
}

/** Whether a write is news for the index: its row shows something else, or is looked at another time. */
export const isNews = (before: StoredRecord, after: StoredRecord): boolean =>
  before.task?.status !== after.task?.status || before.ttlMs !== after.ttlMs || before.settledAt !== after.settledAt;
