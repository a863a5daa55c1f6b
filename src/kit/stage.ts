import type { RecordWritten } from "../record/command";
import type { StoredRecord, TaskFields } from "../record/record";
import type { As, Created, StoreApi } from "../store-api/api";
import { isEqual, isThere, isTrue, Unmet } from "./expect";
import type { Subject } from "./subject";

/** What the cases say and do again and again. Ids and owners are fresh: the store may hold whatever others left. */
export function stage(subject: Subject) {
  const mark = crypto.randomUUID();
  return {
    clientA: subject.api("client-a"),
    clientB: subject.api("client-b"),
    worker: subject.api("worker"),
    admin: subject.api("admin"),
    /** The same name gives the same id within a case, and in no other. */
    id: (name = "task") => `${name}-${mark}`,
    owner: (name = "owner") => `${name}-${mark}`,
  };
}

/** The record that a create made. */
export function madeBy(created: Created): StoredRecord {
  if (created.kind === "created") return created.record;
  throw new Unmet(`Not so: a record was made. It was ${created.kind}.`);
}

/** The record as a write left it. */
export function writtenBy(written: RecordWritten | null, kind: RecordWritten["kind"] = "written"): StoredRecord {
  const { kind: came, record } = isThere(written, "the record is there to be written");
  isEqual(came, kind, "the write came to what the contract says");
  return record;
}

export function taskOf(record: StoredRecord | null): TaskFields {
  return isThere(isThere(record, "the record is there").task, "the record has the fields of a task");
}

/** A JSON value from its text, where the kit wrote the value itself. */
export const parsed = (text: string): unknown => JSON.parse(text);

/** Everything that is collected now, in as many calls as it takes. */
export async function collect(
  api: StoreApi,
  namespace: string,
  defaultTtlMs: number,
  as?: { readonly owner?: string | null },
): Promise<number> {
  let removed = 0;
  for (let calls = 0; calls < 10_000; calls += 1) {
    const collected = await api.cleanup(namespace, defaultTtlMs, as);
    removed += collected.removed;
    if (!collected.more) return removed;
  }
  throw new Unmet("Not so: cleanup comes to an end.");
}

/** A few calls there and back, in which a wait that was begun before them is there to be disturbed. */
export async function settle(api: StoreApi, namespace: string, as: As = {}): Promise<void> {
  for (const _ of times(5, String)) await api.get(namespace, "nothing", as);
}

export const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Whether the times are in order: none before the one that came first. */
export function isAscending(numbers: readonly number[], promise: string): void {
  isTrue(
    numbers.every((number, n) => n === 0 || number >= (numbers[n - 1] as number)),
    `${promise} (${numbers.join(", ")})`,
  );
}
