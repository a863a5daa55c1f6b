import type { Namespace, RecordEntry, Revision, StoredRecord } from "../src/record/record";
import { DOCUMENT, longTexts, shortFacts, toRecord, type Slot } from "../src/record/record-texts";
import { LOG_LIMIT } from "../src/service/task-shelf";
import { join, split, toBytes, toText, type Format } from "./chunks";
import type { RecordPlace } from "./record-rpc";
import { recordShelfSql, recordShelfUpgrades } from "./record-shelf-sql";
import { Schema } from "./schema";

/** What one answer holds of a log, whatever number of entries was asked for; the first is always in it. */
const PAGE_BYTES = 8_388_608;

/** The kept saves of a document must fit one answer, each character taking two bytes there. The newest is always kept. */
const REVISION_BYTES = 15_728_640;

/** Under which version a text was written, and how long it is: a part that is missing must be noticed. */
type Written = { readonly version: number; readonly bytes: number };

type Facts = RecordPlace & {
  /** Null from the record's removal until its index knows. */
  readonly record: StoredRecord | null;
  readonly id: string;
  readonly texts: { readonly [S in Slot]?: Written };
  /** All kept saves together. */
  readonly savedBytes: number;
};

export type Shelved = RecordPlace & { readonly record: StoredRecord | null; readonly id: string };

/** What lies there is not a whole record. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Where one record's bytes lie. All of it synchronous but `clear`; looking where nothing is stores nothing. */
export class RecordShelf {
  readonly #storage: DurableObjectStorage;
  readonly #toReal: (at: number) => number;
  readonly #schema: Schema<keyof typeof recordShelfSql>;
  #kept: Facts | null = null;

  /** `toReal` turns the product's time into the platform's, for alarms: fixtures shift the product's clock. */
  constructor(storage: DurableObjectStorage, toReal: (at: number) => number) {
    this.#storage = storage;
    this.#toReal = toReal;
    this.#schema = new Schema(storage, recordShelfUpgrades, recordShelfSql);
  }

  /** Throws `Unreadable` for what is damaged. */
  load(): Shelved | null {
    if (this.#kept === null && this.#schema.exists()) this.#kept = this.#read();
    return this.#kept;
  }

  /**
   * One atomic commit: the record, the new entries of its log, in a `document` namespace the save, and the alarm (Unix ms;
   * undefined leaves it as it is). What did not change is not written again.
   */
  put(
    { index, mark, attempt }: RecordPlace,
    record: StoredRecord,
    entries: readonly RecordEntry[],
    { kind, revisions }: Namespace,
    alarmAt?: number,
  ): void {
    const before = this.#kept;
    // Known only once it is committed: a transaction that throws leaves what was there.
    this.#kept = this.#schema.transaction(() => {
      this.#schema.create();
      // Part of the same commit. No await, or the block would end here.
      if (alarmAt !== undefined) this.setAlarm(alarmAt);
      const texts = this.#writeTexts(before, record, kind === "document");
      for (const entry of entries) this.#addEntry(entry);
      this.#query("removeEntries", record.seq - LOG_LIMIT);
      const saved = before?.record ? before.savedBytes : 0;
      const savedBytes = kind === "document" ? this.#addRevision(record, texts, saved, revisions) : saved;
      const facts = { index, mark, attempt, id: record.id, record, texts, savedBytes };
      this.#query("putFacts", JSON.stringify({ ...facts, record: shortFacts(record) }));
      return facts;
    });
  }

  /** In place of the record, that it was removed: until its index knows, its id must not look unused. */
  bury(alarmAt: number): void {
    const { index, mark, attempt, id } = this.#kept as Facts;
    this.#kept = this.#schema.transaction(() => {
      this.setAlarm(alarmAt);
      for (const table of ["emptyText", "emptyLog", "emptyRevision"] as const) this.#query(table);
      const facts = { index, mark, attempt, id, record: null, texts: {}, savedBytes: 0 };
      this.#query("putFacts", JSON.stringify(facts));
      return facts;
    });
  }

  setAlarm(at: number | null): void {
    void (at === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(this.#toReal(at)));
  }

  /** The kept entries with `seq > after`, in order: at most so many, and so long. */
  entries(after: number, limit: number): readonly RecordEntry[] {
    const entries: RecordEntry[] = [];
    let bytes = 0;
    let parts: ArrayBuffer[] = [];
    let seq = after;
    const complete = (): void => {
      if (parts.length > 0) entries.push(JSON.parse(toText(8, join(parts))) as RecordEntry);
      parts = [];
    };
    const rows = this.#storage.sql.exec<{ seq: number; bytes: ArrayBuffer }>(recordShelfSql.entries, after);
    for (const row of rows) {
      if (row.seq !== seq) {
        complete();
        if (entries.length >= limit || (entries.length > 0 && bytes >= PAGE_BYTES)) return entries;
      }
      seq = row.seq;
      parts.push(row.bytes);
      bytes += row.bytes.byteLength;
    }
    if (entries.length < limit) complete();
    return entries;
  }

  /** The kept saves, newest first. */
  revisions(): readonly Revision[] {
    return this.#query<{ version: number; at: number }>("revisions").map(({ version, at }) => ({
      version,
      at,
      document: this.#text(DOCUMENT, version) ?? "",
    }));
  }

  /** Removes everything, the alarm included. */
  async clear(): Promise<void> {
    this.#kept = null;
    await this.#schema.wipe();
  }

  #writeTexts(before: Facts | null, record: StoredRecord, isDocument: boolean): Facts["texts"] {
    const old = before?.record ? longTexts(before.record) : new Map<Slot, string>();
    const next = longTexts(record);
    const texts: { [S in Slot]?: Written } = {};
    // Each save of a document is a text of its own, which its revision keeps.
    const isSaved = (slot: Slot) => isDocument && slot === DOCUMENT;
    for (const slot of old.keys()) {
      const written = before?.texts[slot];
      if (!written || isSaved(slot)) continue;
      if (next.get(slot) === old.get(slot)) texts[slot] = written;
      else this.#query("removeText", slot, written.version);
    }
    for (const [slot, text] of next) texts[slot] ??= this.#addText(slot, record.version, text);
    return texts;
  }

  #addText(slot: Slot, version: number, text: string): Written {
    const { format, bytes } = toBytes(text);
    for (const [part, chunk] of split(bytes).entries()) this.#query("addText", slot, version, part, format, chunk);
    return { version, bytes: bytes.byteLength };
  }

  #addEntry(entry: RecordEntry): void {
    const parts = split(toBytes(JSON.stringify(entry)).bytes);
    for (const [part, bytes] of parts.entries()) this.#query("addEntry", entry.seq, part, bytes);
  }

  /** Returns how much is kept then. */
  #addRevision({ version, updatedAt }: StoredRecord, texts: Facts["texts"], savedBytes: number, most: number): number {
    const { bytes } = texts[DOCUMENT] as Written;
    this.#query("addRevision", version, updatedAt, bytes);
    let saved = savedBytes + bytes;
    for (;;) {
      const oldest = this.#query<{ version: number; bytes: number }>("oldestRevision")[0];
      if (!oldest || oldest.version === version) return saved;
      // Each version is a save, so these are the newest without gaps.
      if (oldest.version > version - most && saved <= REVISION_BYTES) return saved;
      this.#query("removeRevision", oldest.version);
      this.#query("removeText", DOCUMENT, oldest.version);
      saved -= oldest.bytes;
    }
  }

  #read(): Facts | null {
    const row = this.#query<{ facts: string }>("facts")[0];
    if (!row) return null;
    const facts = parsed(row.facts);
    if (facts.record === null) return facts;
    const texts = new Map<Slot, string>();
    for (const [slot, written] of Object.entries(facts.texts) as [Slot, Written][]) {
      const text = this.#text(slot, written.version, written.bytes);
      if (text === null) throw new Unreadable(`${slot} is not as long as it was.`);
      texts.set(slot, text);
    }
    return { ...facts, record: toRecord(facts.record, texts) };
  }

  /** Null when it is not of that length. */
  #text(slot: Slot, version: number, bytes?: number): string | null {
    const rows = this.#query<{ format: Format; bytes: ArrayBuffer }>("text", slot, version);
    const joined = join(rows.map((row) => row.bytes));
    if (bytes !== undefined && joined.byteLength !== bytes) return null;
    return toText(rows[0]?.format ?? 8, joined);
  }

  #query<T extends Record<string, SqlStorageValue>>(statement: keyof typeof recordShelfSql, ...values: unknown[]): T[] {
    return this.#storage.sql.exec<T>(recordShelfSql[statement], ...values).toArray();
  }
}

function parsed(text: string): Facts {
  try {
    const facts = JSON.parse(text) as Facts;
    if (typeof facts.index === "string" && facts.record !== undefined) return facts;
  } catch {
    // It is said below.
  }
  throw new Unreadable("The facts are no record's.");
}
