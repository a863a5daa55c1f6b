import type { StoredRecord } from "../record/record";
import type { RecordCreated, RecordKey, RecordStore } from "../service/record-store";
import { decodeTaskId } from "../task-id";

/** No minted id has it. */
const MARK = "=";

/** An id of a caller's choice, as stores know it. */
export const chosenId = (id: string): string => MARK + id;

/**
 * Keeps ids that callers choose apart from those that are minted: whoever chooses an id that was minted for somebody else
 * gets a record of its own, and learns nothing. An id that looks minted is looked up as such first.
 */
export function withChosenIds(records: RecordStore): RecordStore {
  return {
    mint: () => records.mint(),
    async create(key, owner, content, options) {
      const created = await records.create(key, owner, content, options);
      return "record" in created ? ({ ...created, record: asCalled(created.record) } satisfies RecordCreated) : created;
    },
    read: (key, asker) =>
      firstOf(key, async (each) => {
        const record = await records.read(each, asker);
        return record && asCalled(record);
      }),
    write: (key, asker, command) =>
      firstOf(key, async (each) => {
        const told = await records.write(each, asker, command);
        return told && { ...told, record: asCalled(told.record) };
      }),
    remove: async (key, asker) =>
      (await firstOf(key, async (each) => (await records.remove(each, asker)) || null)) ?? false,
    entries: (key, asker, after, limit) => firstOf(key, (each) => records.entries(each, asker, after, limit)),
    watch: (key, asker, after, signal) => firstOf(key, (each) => records.watch(each, asker, after, signal)),
    revisions: (key, asker) => firstOf(key, (each) => records.revisions(each, asker)),
    async list(query) {
      const page = await records.list(query);
      return { ...page, records: page.records.map(asCalled) };
    },
    cleanup: (namespace, space, defaultTtlMs, budget) => records.cleanup(namespace, space, defaultTtlMs, budget),
  };
}

async function firstOf<T>(key: RecordKey, call: (key: RecordKey) => Promise<T | null>): Promise<T | null> {
  const chosen = { ...key, id: chosenId(key.id) };
  return (decodeTaskId(key.id) === null ? null : await call(key)) ?? call(chosen);
}

/** Under the id that its callers know it by. */
const asCalled = (record: StoredRecord): StoredRecord =>
  record.id.startsWith(MARK) ? { ...record, id: record.id.slice(MARK.length) } : record;
