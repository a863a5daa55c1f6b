import type { RecordContent } from "../src/record/command";
import type { StoredRecord } from "../src/record/record";
import type { RecordCreated, RecordKey } from "../src/service/record-store";
import type { Reservation } from "../src/service/task-index";
import type { IdempotencyKey } from "../src/service/task-store";
import { TaskError } from "../src/task/errors";
import type { DurableRecordStoreParts } from "./durable-record-store";
import type { RecordSpace } from "./names";
import { mintedId } from "./minted-id";
import { calling } from "./object-call";
import { NO_STATUS } from "./record-mirror";
import { recordIndexStub, recordStub, type RecordIndexCalls, type RecordMade } from "./record-rpc";
import { collectRecords, indexForNew, objectOf, spaceOf } from "./record-spaces";

/** How often it starts over because what its id or its idempotency key named is gone by now. */
const ROUNDS = 4;

/** Expired rows that are collected to make room for a new one. */
const ROOM = 32;

/** There are no live records apart from stored ones. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export type WantedRecord = {
  readonly key: RecordKey;
  readonly owner: string | null;
  readonly content: RecordContent;
  readonly maxRows: number | null;
  readonly idempotency: IdempotencyKey | null;
};

/** What a row of the index says, or said until now. */
type Listed = { readonly id: string; readonly deadline: number; readonly mark: string };

/** One creation of a record: reserved at the index, then stored by its object, which decides between parallel ones. */
export class RecordCreation {
  readonly #parts: DurableRecordStoreParts;
  readonly #read: (key: RecordKey) => Promise<StoredRecord | null>;
  readonly #attempt = crypto.randomUUID();

  constructor(parts: DurableRecordStoreParts, read: (key: RecordKey) => Promise<StoredRecord | null>) {
    this.#parts = parts;
    this.#read = read;
  }

  async create(wanted: WantedRecord): Promise<RecordCreated> {
    const { key, maxRows } = wanted;
    const { objects, clock, limits } = this.#parts;
    const space = spaceOf(key);
    const isMinted = mintedId(objects.RECORDS, key.id) !== null;
    const index = indexForNew(key, isMinted, maxRows !== null);
    let hasMadeRoom = false;
    for (let round = 0; round < ROUNDS; round += 1) {
      const reserved = await calling(() => this.#index(index).reserveRecord(this.#reservation(wanted), clock()));
      if (reserved.kind === "limit") {
        // What has expired is no longer there, whether or not it was collected.
        if (hasMadeRoom || !(await this.#makeRoom(space, index))) return limitOf(reserved.value, maxRows);
        hasMadeRoom = true;
        continue;
      }
      if (reserved.kind === "conflict" || reserved.kind === "rate") return reserved;
      const named = { ...key, id: reserved.id };
      if (reserved.kind === "reserved" || !reserved.confirmed) {
        const made = await this.#make({ ...wanted, key: named }, index, reserved);
        if (made.kind === "created") return made;
        if (made.kind === "foreign") return { kind: "taken" };
      }
      // What the row stands for may have expired, or never have come true: whoever finds that clears it away.
      const record = await this.#read(named);
      if (record) return reserved.kind === "existing" ? { kind: "existing", record } : { kind: "taken" };
      await collectRecords(this.#parts, space, index, [reserved], limits.retentionMs);
    }
    throw new TaskError("overloaded", "The record could not be stored in time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  /**
   * When the call fails the reservation stays: whether the object stored the record is not known, and a record without
   * a row would be neither listed nor collected. The sweep asks the object, and drops the row if there is none.
   */
  async #make({ key, owner, content }: WantedRecord, index: string, listed: Listed): Promise<RecordMade> {
    const { objects } = this.#parts;
    const { deadline, mark } = listed;
    const place = { index, mark, attempt: this.#attempt };
    const made = await calling(() =>
      recordStub(objects, objectOf(objects, spaceOf(key), key.id)).create({ ...place, key, owner, content, deadline }),
    );
    if (made.kind === "late" || made.kind === "foreign") {
      await calling(() => this.#index(index).release(listed.id, mark));
    }
    return made;
  }

  async #makeRoom(space: RecordSpace, index: string): Promise<boolean> {
    const rows = await calling(() => this.#index(index).due(this.#parts.clock(), ROOM));
    if (rows.length === 0) return false;
    const { removed, dropped } = await collectRecords(this.#parts, space, index, rows, this.#parts.limits.retentionMs);
    return removed + dropped > 0;
  }

  #reservation({ key, owner, content, maxRows, idempotency }: WantedRecord): Reservation {
    const { namespace, space, id } = key;
    const { reservationMs, maxTasksPerOwner, createsPerMinute } = this.#parts.limits;
    const now = this.#parts.clock();
    const isApart = namespace.owners === "separate";
    const isSomebodys = isApart && space !== null;
    return {
      id,
      // What only a task's row says.
      tool: "",
      contextId: null,
      origin: "store",
      createdAt: now,
      deadline: now + reservationMs,
      // Those of nobody share nothing, keys included.
      idempotency: isApart && !isSomebodys ? null : idempotency,
      maxStored: Math.min(maxRows ?? UNLIMITED, isApart ? maxTasksPerOwner : UNLIMITED),
      maxLive: UNLIMITED,
      // Nobody's lie together by chance.
      maxPerMinute: isSomebodys ? createsPerMinute : UNLIMITED,
      record: {
        mark: crypto.randomUUID(),
        owner: isApart ? null : JSON.stringify(owner),
        status: content.task?.status ?? NO_STATUS,
      },
    };
  }

  #index(name: string): RecordIndexCalls {
    return recordIndexStub(this.#parts.objects, name);
  }
}

/** Which cap it was: the call's own, or the deployment's. */
const limitOf = (value: number, maxRows: number | null): RecordCreated => ({
  kind: "limit",
  limit: value === maxRows ? "max_rows" : "MAX_TASKS_PER_OWNER",
  value,
});
