import type { Clock } from "../clock";
import { createRecord } from "../record/apply";
import type { RecordContent } from "../record/command";
import type { StoredRecord } from "../record/record";
import type { Limits } from "../service/limits";
import type { RecordCreated, RecordKey } from "../service/record-store";
import type { IdempotencyKey } from "../service/task-store";
import { TaskError } from "../task/errors";
import { columnsOf, storingRecord } from "./record-rows";
import { recordSql } from "./record-sql";
import { newRev } from "./task-rows";

const MINUTE_MS = 60_000;

/** How often a create starts over because what was in its way is gone by now. */
const ROUNDS = 6;

/** Expired records that make room at once. */
const ROOM = 100;

export type Conditions = { readonly maxRows: number | null; readonly idempotency: IdempotencyKey | null };

type Wanted = {
  readonly key: RecordKey;
  readonly owner: string | null;
  readonly content: RecordContent;
  readonly conditions: Conditions;
  readonly minted: boolean;
};

export type RecordCreationParts = {
  readonly db: D1Database;
  readonly limits: Pick<Limits, "maxTasksPerOwner" | "createsPerMinute" | "retentionMs">;
  readonly clock: Clock;
  readonly load: (n: number) => Promise<StoredRecord | null>;
};

type Holder = { n: number; digest: string | null; expires_at: number | null };
type Tally = { stored: number; minute: number; created: number };

/** One statement both counts and stores, so the caps are exact under any number of parallel calls. */
export async function createInD1(parts: RecordCreationParts, wanted: Wanted): Promise<RecordCreated> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const created = await attempt(parts, wanted);
    if (created) return created;
  }
  throw new TaskError("overloaded", "The record could not be stored in time. Try again in a moment.", {
    retryAfterMs: 1_000,
  });
}

/** Null when what was in the way has expired: it is gone now, and there may be room. */
async function attempt(parts: RecordCreationParts, wanted: Wanted): Promise<RecordCreated | null> {
  const { db, clock, load } = parts;
  const now = clock();
  const { inserted, record, ofKey, ofId, tally } = await insert(parts, wanted, now);
  if (inserted) return { kind: "created", record };
  const holder = ofKey ?? ofId;
  if (!holder) return refuse(parts, wanted, tally, now);
  if (holder.expires_at !== null && holder.expires_at <= now) {
    await db.prepare(recordSql.removeExpiredOne).bind(holder.n, now).run();
    return null;
  }
  if (!ofKey) return { kind: "taken" };
  if (ofKey.digest !== wanted.conditions.idempotency?.digest) return { kind: "conflict" };
  const known = await load(ofKey.n);
  return known && { kind: "existing", record: known };
}

async function insert({ db, limits }: RecordCreationParts, wanted: Wanted, now: number) {
  const { key, owner, content, conditions, minted } = wanted;
  const { record, entries } = createRecord({ id: key.id, namespace: key.namespace.name, owner }, content, now);
  const { status, seq, expiresAt, fadesAt, facts } = columnsOf(record, limits.retentionMs);
  const [namespace, space, id] = [key.namespace.name, JSON.stringify(key.space), JSON.stringify(key.id)] as const;
  const { idempotency } = conditions;
  const name = idempotency && JSON.stringify(idempotency.key);
  const rev = newRev();
  const minute = minuteOf(now);
  const { rows, perMinute } = capsOf(wanted, limits);
  const place = [namespace, space, id, rev, JSON.stringify(owner)];
  const state = [status, record.createdAt, seq, expiresAt, fadesAt];
  const use = [Number(minted), name, idempotency?.digest ?? null, minute, facts];
  const room = [namespace, space, Math.min(...rows.map(({ value }) => value)), minute, perMinute];
  const [, row, ...rest] = await db.batch([
    db.prepare(recordSql.openTally).bind(namespace, space, minute),
    db.prepare(recordSql.insert).bind(...place, ...state, ...use, ...room),
    ...storingRecord(db, [namespace, space, id, rev], record, entries),
    db.prepare(recordSql.holderOfKey).bind(namespace, space, name),
    db.prepare(recordSql.holderOfId).bind(namespace, space, id),
    db.prepare(recordSql.tally).bind(namespace, space),
  ]);
  const [ofKey, ofId, tally] = rest.slice(-3).map((found) => found?.results[0]);
  return {
    record,
    inserted: (row?.results.length ?? 0) > 0,
    ofKey: ofKey as Holder | undefined,
    ofId: ofId as Holder | undefined,
    tally: tally as Tally,
  };
}

/** What has expired is no longer there, whether or not it was collected: only then is it full. */
async function refuse(
  { db, limits }: RecordCreationParts,
  wanted: Wanted,
  { stored, minute, created }: Tally,
  now: number,
): Promise<RecordCreated | null> {
  const { rows, perMinute } = capsOf(wanted, limits);
  const full = rows.find(({ value }) => stored >= value);
  if (full) {
    const { namespace, space } = wanted.key;
    const removed = await db
      .prepare(recordSql.removeExpired)
      .bind(namespace.name, JSON.stringify(space), now, ROOM)
      .all();
    return removed.results.length > 0 ? null : { kind: "limit", ...full };
  }
  // Otherwise it was full only for a moment.
  if (minute !== minuteOf(now) || created < perMinute) return null;
  return { kind: "rate", value: perMinute, retryAfterMs: (minute + 1) * MINUTE_MS - now };
}

/** Where owners are not kept apart, who calls is a server, and only says itself how many it will have. */
function capsOf({ key, conditions }: Wanted, { maxTasksPerOwner, createsPerMinute }: RecordCreationParts["limits"]) {
  const separate = key.namespace.owners === "separate";
  const unlimited = Number.MAX_SAFE_INTEGER;
  return {
    rows: [
      { limit: "max_rows", value: conditions.maxRows ?? unlimited },
      { limit: "MAX_TASKS_PER_OWNER", value: separate ? maxTasksPerOwner : unlimited },
    ],
    perMinute: separate && key.space !== null ? createsPerMinute : unlimited,
  };
}

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);
