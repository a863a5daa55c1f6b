import type { Clock } from "../clock";
import { applyCommand } from "../record/apply";
import type { RecordCommand, RecordContent, RecordTold } from "../record/command";
import {
  isRecordExpired,
  mayAsk,
  type Asker,
  type Namespace,
  type RecordEntry,
  type Revision,
  type StoredRecord,
} from "../record/record";
import type { Limits } from "../service/limits";
import type { RecordCreated, RecordKey, RecordPage, RecordQuery, RecordStore } from "../service/record-store";
import { TaskError } from "../task/errors";
import { randomTaskId } from "../task-id";
import type { LogLevel } from "../tool/context";
import { migrated } from "./migrate";
import { createInD1, type Conditions } from "./record-creation";
import { entriesOf, followed, revisionsOf } from "./record-log";
import { pageOf } from "./record-pages";
import { fromRecordResults, loadingRecord, writingRecord, type KeptRecord, type RecordPlace } from "./record-rows";
import { recordSql } from "./record-sql";
import { Streams } from "./streams";

/** So many writers of one record may have been faster. */
const ATTEMPTS = 30;

/** Ids that were given out and not used yet: used at once, as a rule. */
const MINTED = 10_000;

const MINUTE_MS = 60_000;
const IDLE_MINUTES = 60;

export type D1RecordsParts = {
  readonly db: D1Database;
  readonly limits: Limits;
  /** Unix ms. */
  readonly clock?: Clock;
  readonly log?: (level: LogLevel, message: string, data: object) => void;
};

export interface D1RecordStore extends RecordStore {
  /** For the cron: removes what has expired, wherever it lies. Returns how many records went. */
  sweep(budget: number): Promise<number>;
}

/** Records in a D1 database. The tables are made at the first call. */
export const d1Records = (parts: D1RecordsParts): D1RecordStore => new D1Records(parts);

class D1Records implements D1RecordStore {
  readonly #db: () => Promise<D1Database>;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #log: NonNullable<D1RecordsParts["log"]>;
  readonly #streams: Streams;
  readonly #minted = new Set<string>();

  constructor({ db, limits, clock = Date.now, log = () => {} }: D1RecordsParts) {
    this.#db = migrated(db);
    this.#limits = limits;
    this.#clock = clock;
    this.#log = log;
    this.#streams = new Streams(limits.maxStreamsPerOwner);
  }

  mint(): string {
    const id = randomTaskId((bytes) => crypto.getRandomValues(bytes));
    const [oldest] = this.#minted;
    if (oldest !== undefined && this.#minted.size >= MINTED) this.#minted.delete(oldest);
    this.#minted.add(id);
    return id;
  }

  async create(
    key: RecordKey,
    owner: string | null,
    content: RecordContent,
    conditions: Conditions,
  ): Promise<RecordCreated> {
    const load = async (n: number) => (await this.#load({ by: "number", n }))?.record ?? null;
    const parts = { db: await this.#db(), limits: this.#limits, clock: this.#clock, load };
    return createInD1(parts, { key, owner, content, conditions, minted: this.#minted.delete(key.id) });
  }

  async read(key: RecordKey, asker: Asker): Promise<StoredRecord | null> {
    return (await this.#find(key, asker))?.record ?? null;
  }

  async write(key: RecordKey, asker: Asker, command: RecordCommand): Promise<RecordTold | null> {
    const db = await this.#db();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const kept = await this.#find(key, asker);
      if (!kept) return null;
      const { entries, ...told } = applyCommand(kept.record, command, this.#clock());
      if (told.kind !== "written") return told;
      const [updated] = await db.batch([
        ...writingRecord(db, kept, told.record, entries, key.namespace, this.#limits.retentionMs),
      ]);
      if ((updated?.results.length ?? 0) > 0) return told;
      await pause(Math.random() * Math.min(500, 5 * 2 ** attempt));
    }
    throw new TaskError("overloaded", "Too many are writing this record at the same time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  async remove(key: RecordKey, asker: Asker): Promise<boolean> {
    const kept = await this.#find(key, asker);
    if (!kept) return false;
    const db = await this.#db();
    return (await db.prepare(recordSql.remove).bind(kept.n).all()).results.length > 0;
  }

  async entries(key: RecordKey, asker: Asker, after: number, limit: number): Promise<readonly RecordEntry[] | null> {
    const kept = await this.#find(key, asker);
    return kept && entriesOf(await this.#db(), kept.n, kept.record.seq, after, limit);
  }

  async watch(
    key: RecordKey,
    asker: Asker,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<RecordEntry> | null> {
    const kept = await this.#find(key, asker);
    if (!kept) return null;
    this.#streams.occupy(String(kept.n), signal);
    return followed(await this.#db(), kept.n, after, this.#clock, signal);
  }

  async revisions(key: RecordKey, asker: Asker): Promise<readonly Revision[] | null> {
    const kept = await this.#find(key, asker);
    if (!kept) return null;
    return key.namespace.kind === "document" ? revisionsOf(await this.#db(), kept) : [];
  }

  async list(query: RecordQuery): Promise<RecordPage> {
    const load = async (numbers: readonly number[]): Promise<readonly StoredRecord[]> => {
      const kept = await this.#loadAll(numbers.map((n) => ({ by: "number", n })));
      return kept.flatMap((one) =>
        one && this.#isThere(one.record, query.asker, query.namespace) ? [one.record] : [],
      );
    };
    return pageOf(await this.#db(), query, this.#clock(), load);
  }

  async cleanup(
    namespace: Namespace,
    space: string | null,
    defaultTtlMs: number,
    budget: number,
  ): Promise<{ readonly removed: number; readonly more: boolean }> {
    const db = await this.#db();
    const now = this.#clock();
    const place = [namespace.name, JSON.stringify(space)] as const;
    const expired = await db
      .prepare(recordSql.removeExpired)
      .bind(...place, now, budget)
      .all();
    const left = budget - expired.results.length;
    if (left === 0) return { removed: budget, more: true };
    const faded = await db
      .prepare(recordSql.removeFaded)
      .bind(...place, now - defaultTtlMs, left)
      .all();
    return { removed: expired.results.length + faded.results.length, more: faded.results.length === left };
  }

  async sweep(budget: number): Promise<number> {
    const db = await this.#db();
    const now = this.#clock();
    const [, removed] = await db.batch([
      db.prepare(recordSql.forgetIdle).bind(Math.floor(now / MINUTE_MS) - IDLE_MINUTES),
      db.prepare(recordSql.removeAllExpired).bind(now, budget),
    ]);
    return removed?.results.length ?? 0;
  }

  async #find({ namespace, space, id }: RecordKey, asker: Asker): Promise<KeptRecord | null> {
    const name = { namespace: namespace.name, id: JSON.stringify(id) };
    // Who knows no more than a minted id names no space.
    const byMint = namespace.owners === "separate" && asker.kind === "any" && space === null;
    const kept = await this.#load(
      byMint ? { by: "mint", ...name } : { by: "key", ...name, space: JSON.stringify(space) },
    );
    return kept && this.#isThere(kept.record, asker, namespace) ? kept : null;
  }

  #isThere(record: StoredRecord, asker: Asker, namespace: Namespace): boolean {
    return mayAsk(record, asker, namespace) && !isRecordExpired(record, this.#clock(), this.#limits.retentionMs);
  }

  async #load(place: RecordPlace): Promise<KeptRecord | null> {
    return (await this.#loadAll([place]))[0] ?? null;
  }

  async #loadAll(places: readonly RecordPlace[]): Promise<readonly (KeptRecord | null)[]> {
    const db = await this.#db();
    const found = await db.batch(places.flatMap((place) => loadingRecord(db, place)));
    return places.map((_, at) => this.#readable(found[2 * at]?.results ?? [], found[2 * at + 1]?.results ?? []));
  }

  /** What is damaged reads as if nothing were there, and somebody should look into it. */
  #readable(rows: readonly unknown[], texts: readonly unknown[]): KeptRecord | null {
    try {
      return fromRecordResults(rows, texts);
    } catch (error) {
      const { n } = rows[0] as { n: number };
      this.#log("error", "A record cannot be read.", {
        n,
        error: error instanceof Error ? error.message : String(error),
      });
      return null;
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
