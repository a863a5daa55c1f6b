import type { Clock } from "../clock";
import { applyCommand, createRecord } from "../record/apply";
import type { RecordCommand, RecordContent, RecordTold } from "../record/command";
import {
  isRecordExpired,
  mayAsk,
  recordExpiresAt,
  type Asker,
  type Namespace,
  type RecordEntry,
  type Revision,
  type StoredRecord,
} from "../record/record";
import { randomTaskId } from "../task-id";
import { Channel } from "./channel";
import type { Limits } from "./limits";
import { keep, MemoryKeyspace, type KeptRecord } from "./memory-keyspace";
import type { RecordCreated, RecordKey, RecordPage, RecordQuery, RecordStore } from "./record-store";
import { LONGEST_TIMER_MS } from "./suspension";
import type { IdempotencyKey } from "./task-store";
import { whenAborted } from "./when-aborted";

type Parts = {
  readonly limits: Pick<Limits, "maxTasksPerOwner" | "createsPerMinute" | "retentionMs">;
  readonly clock: Clock;
};

/** Records in one process's memory: for trials and tests. Nothing survives the process. */
export class MemoryRecordStore implements RecordStore {
  readonly #parts: Parts;
  readonly #spaces = new Map<string, MemoryKeyspace>();
  /** Given out, and not used yet. */
  readonly #minted = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  mint(): string {
    const id = randomTaskId((bytes) => crypto.getRandomValues(bytes));
    this.#minted.add(id);
    return id;
  }

  async create(
    { namespace, space, id }: RecordKey,
    owner: string | null,
    content: RecordContent,
    { maxRows, idempotency }: { readonly maxRows: number | null; readonly idempotency: IdempotencyKey | null },
  ): Promise<RecordCreated> {
    const minted = this.#minted.delete(id);
    const name = nameOf(namespace, space);
    const keyspace = this.#spaces.get(name) ?? new MemoryKeyspace();
    const used = idempotency && keyspace.used(idempotency.key);
    if (used && !this.#isExpired(used.kept)) {
      if (used.digest !== idempotency.digest) return { kind: "conflict" };
      return { kind: "existing", record: copyOf(used.kept.record) };
    }
    const holder = keyspace.records.get(id) ?? (minted ? undefined : this.#findMinted(namespace, id));
    if (holder && !this.#isExpired(holder)) return { kind: "taken" };
    const refused = this.#refusal(keyspace, namespace, space, maxRows);
    if (refused) return refused;
    keyspace.drop(id);
    const { record, entries } = createRecord({ id, namespace: namespace.name, owner }, content, this.#parts.clock());
    const kept: KeptRecord = { record, entries: [], revisions: [], minted, watchers: new Set() };
    keep(kept, record, entries, namespace);
    keyspace.records.set(id, kept);
    if (idempotency) keyspace.use(idempotency.key, id, idempotency.digest);
    this.#spaces.set(name, keyspace);
    return { kind: "created", record: copyOf(record) };
  }

  async read(key: RecordKey, asker: Asker): Promise<StoredRecord | null> {
    const kept = this.#find(key, asker);
    return kept && copyOf(kept.record);
  }

  async write(key: RecordKey, asker: Asker, command: RecordCommand): Promise<RecordTold | null> {
    const kept = this.#find(key, asker);
    if (!kept) return null;
    const { entries, ...told } = applyCommand(kept.record, command, this.#parts.clock());
    if (told.kind === "written") keep(kept, told.record, entries, key.namespace);
    return { ...told, record: copyOf(told.record) };
  }

  async remove(key: RecordKey, asker: Asker): Promise<boolean> {
    const kept = this.#find(key, asker);
    return kept !== null && this.#spaceOf(key.namespace, kept.record.owner)?.drop(key.id) === true;
  }

  async entries(key: RecordKey, asker: Asker, after: number, limit: number): Promise<readonly RecordEntry[] | null> {
    const kept = this.#find(key, asker);
    return kept && kept.entries.filter((entry) => entry.seq > after).slice(0, limit);
  }

  async watch(
    key: RecordKey,
    asker: Asker,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<RecordEntry> | null> {
    const kept = this.#find(key, asker);
    if (!kept) return null;
    return this.#follow(kept, after, signal);
  }

  async revisions(key: RecordKey, asker: Asker): Promise<readonly Revision[] | null> {
    return this.#find(key, asker)?.revisions ?? null;
  }

  async list({ namespace, space, asker, status, limit, after }: RecordQuery): Promise<RecordPage> {
    const kept = [...(this.#spaceOf(namespace, space)?.records.values() ?? [])];
    const found = kept
      .filter((one) => !this.#isExpired(one) && mayAsk(one.record, asker, namespace))
      .map(({ record }) => record)
      .filter((record) => status === undefined || record.task?.status === status)
      .filter((record) => after === undefined || isOlder(record, after))
      .sort((a, b) => (isOlder(a, b) ? 1 : -1));
    const records = found.slice(0, limit).map(copyOf);
    const last = found.length > limit ? records.at(-1) : undefined;
    return { records, next: last ? { createdAt: last.createdAt, id: last.id } : null };
  }

  async cleanup(
    namespace: Namespace,
    space: string | null,
    defaultTtlMs: number,
    budget: number,
  ): Promise<{ readonly removed: number; readonly more: boolean }> {
    const keyspace = this.#spaceOf(namespace, space);
    if (!keyspace) return { removed: 0, more: false };
    const gone = [...keyspace.records].filter(([, kept]) => this.#isExpired(kept, defaultTtlMs));
    const removed = gone.slice(0, budget);
    for (const [id] of removed) keyspace.drop(id);
    return { removed: removed.length, more: gone.length > removed.length };
  }

  #refusal(
    keyspace: MemoryKeyspace,
    { owners }: Namespace,
    space: string | null,
    maxRows: number | null,
  ): RecordCreated | null {
    const { maxTasksPerOwner, createsPerMinute } = this.#parts.limits;
    const caps = [
      { limit: "max_rows", value: maxRows ?? Infinity },
      { limit: "MAX_TASKS_PER_OWNER", value: owners === "separate" ? maxTasksPerOwner : Infinity },
    ];
    const isFull = ({ value }: { value: number }): boolean => keyspace.records.size >= value;
    // What has expired is no longer there, whether or not it was collected.
    if (caps.some(isFull)) for (const [id, kept] of keyspace.records) if (this.#isExpired(kept)) keyspace.drop(id);
    const full = caps.find(isFull);
    if (full) return { kind: "limit", ...full };
    if (owners !== "separate" || space === null) return null;
    const retryAfterMs = keyspace.created.take(this.#parts.clock(), createsPerMinute);
    return retryAfterMs === null ? null : { kind: "rate", value: createsPerMinute, retryAfterMs };
  }

  #find({ namespace, space, id }: RecordKey, asker: Asker): KeptRecord | null {
    const kept =
      namespace.owners === "separate" && asker.kind === "any" && space === null
        ? this.#findMinted(namespace, id)
        : this.#spaceOf(namespace, space)?.records.get(id);
    return kept && !this.#isExpired(kept) && mayAsk(kept.record, asker, namespace) ? kept : null;
  }

  #findMinted(namespace: Namespace, id: string): KeptRecord | undefined {
    for (const [name, { records }] of this.#spaces) {
      const kept = records.get(id);
      if (kept?.minted && name === nameOf(namespace, kept.record.owner)) return kept;
    }
    return undefined;
  }

  #isExpired({ record }: KeptRecord, retentionMs = Infinity): boolean {
    return isRecordExpired(record, this.#parts.clock(), Math.min(retentionMs, this.#parts.limits.retentionMs));
  }

  #spaceOf(namespace: Namespace, space: string | null): MemoryKeyspace | undefined {
    return this.#spaces.get(nameOf(namespace, space));
  }

  /** From now on, whether or not it is read yet. Ends with the record: also when its time is over, which nobody tells. */
  #follow(kept: KeptRecord, after: number, signal: AbortSignal): AsyncIterable<RecordEntry> {
    const channel = new Channel<RecordEntry>();
    for (const entry of kept.entries) if (entry.seq > after) channel.push(entry);
    let timer: ReturnType<typeof setTimeout> | null = null;
    const leave = (): void => {
      if (timer !== null) clearTimeout(timer);
      kept.watchers.delete(channel);
      channel.close();
    };
    const look = (): void => {
      if (timer !== null) clearTimeout(timer);
      const at = recordExpiresAt(kept.record, this.#parts.limits.retentionMs);
      if (at === null) return;
      const leftMs = at - this.#parts.clock();
      if (leftMs <= 0) leave();
      else timer = setTimeout(look, Math.min(leftMs, LONGEST_TIMER_MS));
    };
    kept.watchers.add(channel);
    whenAborted(signal, leave);
    return readUntil(channel, look, leave);
  }
}

/** Looks again after each entry: any write may have changed how long the record lasts. */
async function* readUntil<T>(
  channel: AsyncIterable<T>,
  look: () => void,
  leave: () => void,
): AsyncGenerator<T, void, undefined> {
  try {
    look();
    for await (const item of channel) {
      yield item;
      look();
    }
  } finally {
    leave();
  }
}

/** Records of nobody lie together; where owners are not kept apart, all do. */
const nameOf = ({ name, owners }: Namespace, space: string | null): string =>
  JSON.stringify([name, owners === "separate" ? space : null]);

/** What is given out is not what is kept. */
const copyOf = (record: StoredRecord): StoredRecord => ({ ...record, task: record.task && { ...record.task } });

type Place = Pick<StoredRecord, "createdAt" | "id">;

const isOlder = (record: Place, than: Place): boolean =>
  record.createdAt < than.createdAt || (record.createdAt === than.createdAt && record.id < than.id);
