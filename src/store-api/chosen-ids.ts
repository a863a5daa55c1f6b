import type { StoredRecord } from "../record/record";
import { decodeTaskId } from "../task-id";

/** No minted id has it. */
const MARK = "=";

/** An id of a caller's choice, as stores know it. */
export const chosenId = (id: string): string => MARK + id;

/**
 * Keeps ids that callers choose apart from those that are minted: whoever chooses an id that was minted for somebody else
 * gets a record of its own, and learns nothing. An id that looks minted is looked up as such first.
 */
export async function firstOf<T>(id: string, call: (id: string) => Promise<T | null>): Promise<T | null> {
  return (decodeTaskId(id) === null ? null : await call(id)) ?? call(chosenId(id));
}

/** Under the id that its callers know it by. */
export const asCalled = (record: StoredRecord): StoredRecord =>
  record.id.startsWith(MARK) ? { ...record, id: record.id.slice(MARK.length) } : record;
