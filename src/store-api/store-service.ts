import type { RecordChanges, RecordCommand, RecordWritten } from "../record/command";
import type { Namespace, RecordStatus, Revision, StoredRecord } from "../record/record";
import type { Limits } from "../service/limits";
import type { Principal } from "../service/principal";
import type { RecordKey, RecordStore } from "../service/record-store";
import { whileWaiting } from "../service/while-waiting";
import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import type { As, Created, Entries, RecordDraft, RecordListQuery, StoreApi } from "./api";
import { asCalled, chosenId, firstOf } from "./chosen-ids";
import { given } from "./given";
import { accessTo, mustKeep, mustList, mustNameOwner, namespaceFor, type RecordAccess } from "./record-access";
import { idempotencyOf, toCreated } from "./record-creation";
import { fromCursor, toCursor } from "./record-cursor";
import {
  check,
  checked,
  contentOf,
  isRecordId,
  isStatus,
  mustBeByKey,
  mustBeId,
  mustBeWhole,
  taskInPlace,
  recordTooLarge,
} from "./record-rules";

export type StoreServiceParts = {
  readonly records: RecordStore;
  readonly namespaces: readonly Namespace[];
  readonly limits: Limits;
};

const PAGE = 50;
const LARGEST_PAGE = 100;
/** As many as a record's log keeps. */
const BATCH = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Records one cleanup looks at; who has more is told, and calls again. */
const CLEANUP_BUDGET = 200;
/** A document that comes and goes while it is saved is tried again so often. */
const SAVE_ATTEMPTS = 5;

/** The store API in process. Whose call it is decides what it may do. */
export const storeService = (parts: StoreServiceParts): { as(principal: Principal): StoreApi } => ({
  as: (principal) => new StoreService(parts, principal),
});

type Place = RecordAccess & { readonly namespace: Namespace };

class StoreService implements StoreApi {
  readonly #parts: StoreServiceParts;
  readonly #principal: Principal;
  readonly #records: RecordStore;

  constructor(parts: StoreServiceParts, principal: Principal) {
    this.#parts = parts;
    this.#records = parts.records;
    this.#principal = principal;
  }

  async create(
    name: string,
    draft: RecordDraft,
    options: As & { readonly maxRows?: number | null; readonly idempotencyKey?: string } = {},
  ): Promise<Created> {
    const { namespace, space, asker, owner } = this.#place(name, options);
    mustNameOwner(namespace, asker, draft.id === undefined);
    if (draft.id !== undefined) mustBeId(draft.id);
    const id = draft.id === undefined ? this.#records.mint() : chosenId(draft.id);
    const maxRows = options.maxRows ?? null;
    if (maxRows !== null) mustBeWhole("maxRows", maxRows);
    const content = contentOf(draft, namespace, this.#parts.limits);
    const asked = { id: draft.id, content };
    const idempotency = await idempotencyOf(options.idempotencyKey, owner, namespace, asked);
    const conditions = { maxRows, idempotency };
    return toCreated(await this.#records.create({ namespace, space, id }, owner, content, conditions));
  }

  async get(name: string, id: string, as: As = {}): Promise<StoredRecord | null> {
    const place = this.#place(name, as);
    const record = await find(place, id, (key) => this.#records.read(key, place.asker));
    return record && asCalled(record);
  }

  async replace(
    name: string,
    id: string,
    version: number | null,
    content: RecordDraft & { readonly document: JsonText },
    as: As = {},
  ): Promise<RecordWritten | null> {
    const place = this.#place(name, as);
    const { task, document, ttlMs } = checked(content, place.namespace, this.#parts.limits);
    check(document !== undefined, "document must be given: what is left out is gone.");
    const whole = { task: place.namespace.kind === "task" ? taskInPlace(task) : null, document, ...given({ ttlMs }) };
    return this.#write(place, id, { kind: "replace", version: checkedVersion(version), content: whole });
  }

  async merge(
    name: string,
    id: string,
    changes: RecordChanges,
    options: As & { readonly version?: number | null } = {},
  ): Promise<RecordWritten | null> {
    const place = this.#taskPlace(name, options);
    const version = checkedVersion(options.version ?? null);
    return this.#write(place, id, {
      kind: "merge",
      version,
      changes: checked(changes, place.namespace, this.#parts.limits),
    });
  }

  async save(name: string, id: string, document: JsonText, as: As = {}): Promise<StoredRecord> {
    const place = this.#place(name, as);
    check(place.namespace.kind === "document", "This namespace keeps tasks: create one, then change it.");
    mustBeId(id);
    mustNameOwner(place.namespace, place.asker);
    const content = contentOf({ document }, place.namespace, this.#parts.limits);
    for (let attempt = 0; attempt < SAVE_ATTEMPTS; attempt += 1) {
      const saved = await this.#write(place, id, {
        kind: "replace",
        version: null,
        content: { task: null, document },
      });
      if (saved) return saved.record;
      const conditions = { maxRows: null, idempotency: null };
      const made = await this.#records.create(keyOf(place, chosenId(id)), place.owner, content, conditions);
      const told = toCreated(made);
      if (told.kind === "created") return told.record;
    }
    throw new TaskError("conflict", "A record with this id is there, and is not yours to save.");
  }

  async setStatus(
    name: string,
    id: string,
    status: RecordStatus,
    changes: RecordChanges = {},
    as: As = {},
  ): Promise<RecordWritten | null> {
    const place = this.#taskPlace(name, as);
    check(isStatus(status), "That is no status of a task.");
    const also = checked(changes, place.namespace, this.#parts.limits);
    return this.#write(place, id, { kind: "set_status", status, changes: also });
  }

  async setQuestions(name: string, id: string, requests: JsonText, as: As = {}): Promise<RecordWritten | null> {
    mustBeByKey(requests, "requests");
    return this.#write(this.#taskPlace(name, as), id, { kind: "set_questions", requests });
  }

  async resolve(name: string, id: string, responses: JsonText, as: As = {}): Promise<RecordWritten | null> {
    mustBeByKey(responses, "responses");
    return this.#write(this.#taskPlace(name, as), id, { kind: "resolve", responses });
  }

  async cancel(name: string, id: string, as: As = {}): Promise<RecordWritten | null> {
    return this.#write(this.#taskPlace(name, as), id, { kind: "cancel" });
  }

  async remove(name: string, id: string, as: As = {}): Promise<boolean> {
    const place = this.#place(name, as);
    const removed = await find(place, id, async (key) => (await this.#records.remove(key, place.asker)) || null);
    return removed !== null;
  }

  async list(
    name: string,
    query: RecordListQuery = {},
  ): Promise<{ readonly records: readonly StoredRecord[]; readonly nextCursor: string | null }> {
    const { namespace, space, asker } = this.#place(name, query);
    mustList(namespace, this.#principal);
    mustNameOwner(namespace, asker);
    const { status, limit = PAGE, cursor } = query;
    check(status === undefined || isStatus(status), "That is no status of a task.");
    mustBeWhole("limit", limit, 1);
    const { records, next } = await this.#records.list({
      namespace,
      space,
      asker,
      limit: Math.min(limit, LARGEST_PAGE),
      ...given({ status, after: cursor === undefined ? cursor : fromCursor(cursor) }),
    });
    return { records: records.map(asCalled), nextCursor: next && toCursor(next) };
  }

  async cleanup(
    name: string,
    defaultTtlMs: number,
    as: As = {},
  ): Promise<{ readonly removed: number; readonly more: boolean }> {
    const { namespace, space, asker } = this.#place(name, as);
    mustKeep(namespace, this.#principal);
    mustNameOwner(namespace, asker);
    mustBeWhole("defaultTtlMs", defaultTtlMs);
    return this.#records.cleanup(namespace, space, defaultTtlMs, CLEANUP_BUDGET);
  }

  async events(
    name: string,
    id: string,
    { after = 0, waitMs = 0, signal, ...as }: NonNullable<Parameters<StoreApi["events"]>[2]> = {},
  ): Promise<Entries | null> {
    const place = this.#place(name, as);
    mustBeWhole("after", after);
    mustBeWhole("waitMs", waitMs);
    const look = () => find(place, id, (key) => this.#records.entries(key, place.asker, after, BATCH));
    let entries = await look();
    if (entries?.length === 0 && waitMs > 0) {
      const watch = (stop: AbortSignal) => find(place, id, (key) => this.#records.watch(key, place.asker, after, stop));
      for await (const _ of whileWaiting(watch, Math.min(waitMs, LONGEST_WAIT_MS), signal)) break;
      entries = await look();
    }
    return entries && { entries, cursor: entries.at(-1)?.seq ?? after };
  }

  async revisions(name: string, id: string, as: As = {}): Promise<readonly Revision[] | null> {
    const place = this.#place(name, as);
    mustKeep(place.namespace, this.#principal);
    return find(place, id, (key) => this.#records.revisions(key, place.asker));
  }

  #place(name: string, as: As): Place {
    const namespace = namespaceFor(this.#parts.namespaces, name, this.#principal);
    return { namespace, ...accessTo(namespace, this.#principal, as) };
  }

  #taskPlace(name: string, as: As): Place {
    const place = this.#place(name, as);
    check(place.namespace.kind === "task", "This namespace keeps documents: replace or save one as a whole.");
    return place;
  }

  async #write(place: Place, id: string, command: RecordCommand): Promise<RecordWritten | null> {
    const { limits } = this.#parts;
    const bounded = { ...command, maxBytes: limits.resultLimitBytes };
    const told = await find(place, id, (key) => this.#records.write(key, place.asker, bounded));
    if (told?.kind === "too_large") throw recordTooLarge(limits);
    return told && { ...told, record: asCalled(told.record) };
  }
}

/** Over a binding there is what the class has, and it has nothing that is public but the API. */
export const SERVED = Object.getOwnPropertyNames(StoreService.prototype).filter(
  (name) => name !== "constructor",
) as readonly (keyof StoreApi)[];

const find = async <T>(place: Place, id: string, call: (key: RecordKey) => Promise<T | null>): Promise<T | null> =>
  isRecordId(id) ? firstOf(id, (known) => call(keyOf(place, known))) : null;

const keyOf = ({ namespace, space }: Place, id: string): RecordKey => ({ namespace, space, id });

function checkedVersion(version: number | null): number | null {
  if (version !== null) mustBeWhole("version", version, 1);
  return version;
}
