// What the tests of the durable record store say again and again.
import { vi } from "vitest";
import { OwnerIndex } from "../../durable-objects/owner-index";
import type { RecordContent } from "../../src/record/command";
import type { Asker, RecordStatus, TaskFields } from "../../src/record/record";
import type { RecordCreated, RecordKey, RecordStore } from "../../src/service/record-store";
import { namespaceNamed } from "./records";

export const ANY: Asker = { kind: "any" };
export const NO_CONDITIONS = { maxRows: null, idempotency: null };
export const STRICT = { namespace: "strict", space: null };

export const BLANK: TaskFields = {
  status: "working",
  statusMessage: null,
  pollIntervalMs: null,
  inputRequests: "{}",
  inputResponses: "{}",
  result: null,
  error: null,
};

export const content = (over: Partial<RecordContent> = {}): RecordContent => ({
  task: BLANK,
  document: "{}",
  ttlMs: null,
  ...over,
});

export const strict = (id: string): RecordKey => ({ namespace: namespaceNamed("strict"), space: null, id });
export const own = (space: string | null, id: string): RecordKey => ({
  namespace: namespaceNamed("default"),
  space,
  id,
});
export const file = (id: string): RecordKey => ({ namespace: namespaceNamed("files"), space: null, id });

export const created = (
  records: RecordStore,
  key: RecordKey,
  over: Partial<RecordContent> = {},
  conditions: { maxRows?: number; idempotency?: { key: string; digest: string } } = {},
  owner = key.space,
): Promise<RecordCreated> => records.create(key, owner, content(over), { ...NO_CONDITIONS, ...conditions });

export const setStatus = (records: RecordStore, key: RecordKey, status: RecordStatus) =>
  records.write(key, ANY, { kind: "set_status", status, changes: {} });

export const listed = async (records: RecordStore, key: RecordKey, status?: RecordStatus) => {
  const { namespace, space } = key;
  const query = { namespace, space, asker: ANY, limit: 100, ...(status ? { status } : {}) };
  return (await records.list(query)).records.map(({ id }) => id);
};

/** Every call of this kind fails, as when the index's machine is gone. */
export function breakIndex(method: "mirror" | "swept"): void {
  vi.spyOn(OwnerIndex.prototype, method).mockRejectedValue(new Error("unreachable"));
}

/** Holds the index's answers back. Flags and no promises: those of one object must not be awaited by another. */
export function holdIndex(method: "mirror" | "swept") {
  const state = { asked: false, released: false };
  vi.spyOn(OwnerIndex.prototype, method).mockImplementation(async () => {
    state.asked = true;
    await vi.waitUntil(() => state.released, { timeout: 20_000 });
    throw new Error("unreachable");
  });
  return { asked: () => vi.waitUntil(() => state.asked), release: () => void (state.released = true) };
}
