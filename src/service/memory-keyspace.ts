import type { Namespace, RecordEntry, Revision, StoredRecord } from "../record/record";
import type { Channel } from "./channel";
import { MinuteCount } from "./minute-count";

/** The newest lines of a record's log that are kept. */
const LOG_LIMIT = 1_000;

/** A record with everything that belongs to it. */
export type KeptRecord = {
  record: StoredRecord;
  entries: readonly RecordEntry[];
  revisions: readonly Revision[];
  readonly minted: boolean;
  readonly watchers: Set<Channel<RecordEntry>>;
};

export function keep(kept: KeptRecord, record: StoredRecord, entries: readonly RecordEntry[], of: Namespace): void {
  kept.record = record;
  kept.entries = [...kept.entries, ...entries].slice(-LOG_LIMIT);
  if (of.kind === "document" && entries.length > 0) {
    const { version, updatedAt, document } = record;
    kept.revisions = [{ version, at: updatedAt, document }, ...kept.revisions].slice(0, of.revisions);
  }
  for (const watcher of kept.watchers) for (const entry of entries) watcher.push(entry);
}

/** One set of ids: an owner's in a namespace, or a whole namespace where owners are not kept apart. */
export class MemoryKeyspace {
  readonly records = new Map<string, KeptRecord>();
  readonly created = new MinuteCount();
  readonly #keys = new Map<string, { readonly id: string; readonly digest: string }>();

  /** The use of an idempotency key, for as long as its record lies here. */
  used(key: string): { readonly kept: KeptRecord; readonly digest: string } | null {
    const used = this.#keys.get(key);
    const kept = used && this.records.get(used.id);
    return used && kept ? { kept, digest: used.digest } : null;
  }

  use(key: string, id: string, digest: string): void {
    this.#keys.set(key, { id, digest });
  }

  /** Whoever waits for the record's log is let go. */
  drop(id: string): boolean {
    for (const watcher of this.records.get(id)?.watchers ?? []) watcher.close();
    for (const [key, used] of this.#keys) if (used.id === id) this.#keys.delete(key);
    return this.records.delete(id);
  }
}
