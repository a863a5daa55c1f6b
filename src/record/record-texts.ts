// A record as storage keeps it: its facts, and apart from them the texts that may be long, each under the name of a slot.
import type { StoredRecord, TaskFields } from "./record";

const TASK_SLOTS = ["statusMessage", "inputRequests", "inputResponses", "result", "error"] as const;

export const DOCUMENT = "document";

export type Slot = typeof DOCUMENT | (typeof TASK_SLOTS)[number];

/** The long texts of a record; a slot that is not there is null. */
export function longTexts({ document, task }: StoredRecord): ReadonlyMap<Slot, string> {
  const texts = new Map<Slot, string>([[DOCUMENT, document]]);
  for (const slot of TASK_SLOTS) {
    const text = task?.[slot] ?? null;
    if (text !== null) texts.set(slot, text);
  }
  return texts;
}

/** The record with nothing in the place of its long texts. */
export const shortFacts = (record: StoredRecord): StoredRecord => ({
  ...record,
  document: "",
  task: record.task && { ...record.task, ...Object.fromEntries(TASK_SLOTS.map((slot) => [slot, null])) },
});

/** Puts a record together again. */
export function toRecord(facts: StoredRecord, texts: ReadonlyMap<Slot, string>): StoredRecord {
  // A task's slots are all of its texts but the status, so none is left empty that may not be null.
  const fields = Object.fromEntries(TASK_SLOTS.map((slot) => [slot, texts.get(slot) ?? null])) as Partial<TaskFields>;
  return { ...facts, document: texts.get(DOCUMENT) ?? "", task: facts.task && { ...facts.task, ...fields } };
}
