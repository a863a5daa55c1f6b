import type { Clock } from "../src/clock";
import type { RecordCommand, RecordContent, RecordTold } from "../src/record/command";
import type { Asker, Namespace, RecordEntry, Revision, StoredRecord } from "../src/record/record";
import type { Limits } from "../src/service/limits";
import type { RecordCreated, RecordKey, RecordPage, RecordQuery, RecordStore } from "../src/service/record-store";
import type { IdempotencyKey } from "../src/service/task-store";
import { mintTaskId } from "../src/task-id";
import { attach } from "./feed";
import { mintedId } from "./minted-id";
import { recordIndexName } from "./names";
import { calling, callingOnce } from "./object-call";
import { cleanUpRecords } from "./record-cleanup";
import { RecordCreation } from "./record-creation";
import { recordFeed, type RecordFeedMessage, type RecordWish } from "./record-feed";
import { listRecords } from "./record-list";
import { recordIndexStub, recordStub } from "./record-rpc";
import { objectOf, spaceOf } from "./record-spaces";
import type { StorageBindings } from "./rpc";

export type DurableRecordStoreParts = {
  readonly objects: StorageBindings;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** A record is an object of its own; the index of its space keeps the cap, the list and what is due. */
export const durableRecordStore = (parts: DurableRecordStoreParts): RecordStore => new DurableRecordStore(parts);

type Stub = ReturnType<typeof recordStub>;

class DurableRecordStore implements RecordStore {
  readonly #parts: DurableRecordStoreParts;

  constructor(parts: DurableRecordStoreParts) {
    this.#parts = parts;
  }

  mint(): string {
    return mintTaskId(() => this.#parts.objects.RECORDS.newUniqueId().toString());
  }

  create(
    key: RecordKey,
    owner: string | null,
    content: RecordContent,
    conditions: { readonly maxRows: number | null; readonly idempotency: IdempotencyKey | null },
  ): Promise<RecordCreated> {
    return new RecordCreation(this.#parts, (found) => this.#read(found, { kind: "any" })).create({
      key,
      owner,
      content,
      ...conditions,
    });
  }

  read(key: RecordKey, asker: Asker): Promise<StoredRecord | null> {
    return this.#ask(key, (object) => object.read({ key, asker }));
  }

  write(key: RecordKey, asker: Asker, command: RecordCommand): Promise<RecordTold | null> {
    // Repeated, it could report what the first try wrote as somebody else's.
    return this.#ask(key, (object) => object.write({ key, asker }, command), callingOnce);
  }

  async remove(key: RecordKey, asker: Asker): Promise<boolean> {
    return (await this.#ask(key, (object) => object.remove({ key, asker }), callingOnce)) ?? false;
  }

  entries(key: RecordKey, asker: Asker, after: number, limit: number): Promise<readonly RecordEntry[] | null> {
    return this.#ask(key, (object) => object.entries({ key, asker }, after, limit));
  }

  async watch(
    key: RecordKey,
    asker: Asker,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<RecordEntry> | null> {
    const streams = this.#parts.limits.maxStreamsPerOwner;
    const open = (object: Stub, from: number) => {
      const wish: RecordWish = { record: { ask: { key, asker }, after: from }, streams };
      return attach<RecordFeedMessage>(object, wish, signal);
    };
    const first = await this.#ask(key, (object) => open(object, after));
    return first && recordFeed(first, (from) => open(this.#stub(key), from), after, signal);
  }

  revisions(key: RecordKey, asker: Asker): Promise<readonly Revision[] | null> {
    return this.#ask(key, (object) => object.revisions({ key, asker }));
  }

  list(query: RecordQuery): Promise<RecordPage> {
    return listRecords(this.#parts, query, (id) =>
      this.#read({ namespace: query.namespace, space: query.space, id }, query.asker),
    );
  }

  cleanup(
    namespace: Namespace,
    space: string | null,
    defaultTtlMs: number,
    budget: number,
  ): Promise<{ readonly removed: number; readonly more: boolean }> {
    return cleanUpRecords(this.#parts, { namespace, space, defaultTtlMs, budget });
  }

  /** Without asking whether the id is known: an index named it. */
  #read(key: RecordKey, asker: Asker): Promise<StoredRecord | null> {
    return calling(() => this.#stub(key).read({ key, asker }));
  }

  /** Null for an id of a caller's choice that nobody stored, so that its object is not woken. */
  async #ask<T>(key: RecordKey, call: (object: Stub) => Promise<T>, by = calling<T>): Promise<T | null> {
    const { objects } = this.#parts;
    const index = recordIndexName(spaceOf(key));
    const isThere =
      mintedId(objects.RECORDS, key.id) ?? (await calling(() => recordIndexStub(objects, index).hasRecord(key.id)));
    // A new stub for each try.
    return isThere ? by(() => call(this.#stub(key))) : null;
  }

  #stub(key: RecordKey): Stub {
    const { objects } = this.#parts;
    return recordStub(objects, objectOf(objects, spaceOf(key), key.id));
  }
}
