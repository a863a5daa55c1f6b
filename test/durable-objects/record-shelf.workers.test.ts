import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { CHUNK_BYTES } from "../../durable-objects/chunks";
import { RecordShelf, Unreadable } from "../../durable-objects/record-shelf";
import type { Namespace, RecordEntry, StoredRecord, TaskFields } from "../../src/record/record";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";
import { namespaceNamed } from "../stores/records";

const PLACE = { index: "i", mark: "m", attempt: "a" };
const TASKS = namespaceNamed("strict");
const DOCUMENTS: Namespace = { ...namespaceNamed("files"), revisions: 3 };
const LATER = 4_000_000_000_000;

/** Text that is not well-formed, so that no encoding may be assumed. */
const ODD = "\ufeff\ud800 \udc00\u0000\r\n\u2028😀";

const task: TaskFields = {
  status: "input_required",
  statusMessage: ODD,
  pollIntervalMs: 5,
  inputRequests: '{"q":{}}',
  inputResponses: JSON.stringify({ ODD }),
  result: `"${"r".repeat(3 * CHUNK_BYTES)}"`,
  error: null,
};

const record = (version: number, over: Partial<StoredRecord> = {}): StoredRecord => ({
  id: ODD,
  namespace: "strict",
  owner: ODD,
  version,
  createdAt: 1,
  updatedAt: version,
  settledAt: null,
  ttlMs: null,
  task,
  document: `{"ä":"${ODD}"}`,
  seq: version,
  ...over,
});

const document = (version: number, text = `{"version":${version}}`) => record(version, { task: null, document: text });

const entry = (seq: number, event: RecordEntry["event"] = { kind: "written", status: null }): RecordEntry => ({
  seq,
  at: seq,
  version: seq,
  event,
});

let stub: DurableObjectStub;

beforeEach(async () => {
  await emptyDeployment();
  stub = objects.TASKS.get(objects.TASKS.newUniqueId());
});

/** Each call is a new incarnation: nothing is remembered but what is stored. */
const onShelf = <T>(use: (shelf: RecordShelf, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(stub, (_, { storage }) => {
    const shelf = new RecordShelf(storage, (at) => at);
    shelf.load();
    return use(shelf, storage);
  });

const put = (next: StoredRecord, entries: readonly RecordEntry[] = [], of = TASKS, alarmAt?: number) =>
  onShelf((shelf) => shelf.put(PLACE, next, entries, of, alarmAt));

const loaded = () => onShelf((shelf) => shelf.load());
const rowsOf = async (table: string) => (await storedIn(stub)).rows[table] ?? [];

describe("a record's shelf", () => {
  it("gives back what was put there, in every place and to the byte", async () => {
    await put(record(1), [entry(1)]);
    expect(await loaded()).toMatchObject({ ...PLACE, record: record(1) });
    const other = record(2, { task: { ...task, result: null, statusMessage: null, error: '"e"' }, document: "{}" });
    await put(other, [entry(2)]);
    expect((await loaded())?.record).toEqual(other);
    await put(record(3, { task: null }), [entry(3)]);
    expect((await loaded())?.record).toEqual(record(3, { task: null }));
  });

  it("keeps every row within what the platform allows", async () => {
    await put(record(1, { document: `{"a":"${"ä".repeat(2_500_000)}"}` }), [
      entry(1, { kind: "answered", key: "q", response: `"${"x".repeat(3_000_000)}"` }),
    ]);
    const lengths = [...(await rowsOf("text")), ...(await rowsOf("log"))].map(({ bytes }) => String(bytes).length);
    expect(Math.max(...lengths)).toBe(CHUNK_BYTES);
  });

  it("writes again only what changed", async () => {
    await put(record(1));
    await put(record(2, { task: { ...task, statusMessage: "another" } }));
    const versions = (await rowsOf("text")).map(({ slot, version }) => [slot, version]);
    expect(new Map(versions as [string, number][])).toEqual(
      new Map([
        ["document", 1],
        ["statusMessage", 2],
        ["inputRequests", 1],
        ["inputResponses", 1],
        ["result", 1],
      ]),
    );
  });

  it("commits record, texts, log and alarm together or not at all", async () => {
    await put(record(1), [entry(1)], TASKS, LATER);
    const before = await storedIn(stub);
    expect(before.alarm).toBe(LATER);
    await onShelf((shelf) => {
      // The log has this seq already, so the commit fails after the texts were written.
      expect(() => shelf.put(PLACE, record(2, { document: "{}" }), [entry(1)], TASKS, LATER + 1)).toThrow();
      expect(shelf.load()?.record).toEqual(record(1));
    });
    expect(await storedIn(stub)).toEqual(before);
  });

  it.each([
    ["a part is missing", "DELETE FROM text WHERE slot = 'result' AND part = 2"],
    ["a text is missing", "DELETE FROM text WHERE slot = 'document'"],
    ["the facts are none", "UPDATE fact SET facts = '{'"],
    ["the facts are another's", "UPDATE fact SET facts = '{}'"],
  ])("says that %s", async (_, sql) => {
    await put(record(1));
    await onShelf((_shelf, storage) => {
      storage.sql.exec(sql);
      expect(() => new RecordShelf(storage, (at) => at).load()).toThrow(Unreadable);
    });
  });

  it("has of a removed record where it lay, and is free for another", async () => {
    await put(record(1), [entry(1)]);
    await onShelf((shelf) => shelf.bury(LATER));
    expect(await loaded()).toMatchObject({ ...PLACE, id: ODD, record: null });
    const { rows, alarm } = await storedIn(stub);
    expect([rows["text"], rows["log"], rows["revision"], alarm]).toEqual([[], [], [], LATER]);
    await put(record(1, { document: "{}" }), [entry(1)]);
    expect((await loaded())?.record).toEqual(record(1, { document: "{}" }));
  });

  it("is left empty by clear, and stores nothing for being looked at", async () => {
    await loaded();
    expect(await storedIn(stub)).toEqual(NOTHING);
    await put(document(1), [entry(1)], DOCUMENTS, LATER);
    await onShelf(async (shelf) => {
      await shelf.clear();
      expect(shelf.load()).toBeNull();
    });
    expect(await storedIn(stub)).toEqual(NOTHING);
  });
});

describe("a record's log", () => {
  const seqs = (after: number, limit = 2_000) => onShelf((shelf) => shelf.entries(after, limit).map(({ seq }) => seq));

  it("gives entries behind a cursor, in order, as they were, and no more than asked for", async () => {
    const entries = [
      entry(1, { kind: "created", status: "working" }),
      entry(2, { kind: "asked", keys: [ODD] }),
      entry(3, { kind: "answered", key: ODD, response: `"${"ä".repeat(1_200_000)}"` }),
      entry(4),
    ];
    await put(record(4), entries);
    expect(await onShelf((shelf) => shelf.entries(0, 10))).toEqual(entries);
    expect([await seqs(1), await seqs(2, 1), await seqs(4), await seqs(0, 0)]).toEqual([[2, 3, 4], [3], [], []]);
  });

  it("keeps the newest thousand", async () => {
    const batch = (from: number) => Array.from({ length: 400 }, (_, n) => entry(from + n));
    for (const from of [1, 401, 801]) await put(record(from + 399), batch(from));
    const kept = await seqs(0);
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([1_000, 201, 1_200]);
    expect(await rowsOf("log")).toHaveLength(1_000);
  });

  it("gives at once no more than fits one answer, and never nothing", async () => {
    const answer = entry(1, { kind: "answered", key: "q", response: `"${"x".repeat(5_000_000)}"` });
    for (const seq of [1, 2, 3]) await put(record(seq), [{ ...answer, seq }]);
    await put(record(4), [
      { ...answer, seq: 4, event: { kind: "answered", key: "q", response: "x".repeat(9_000_000) } },
    ]);
    expect([await seqs(0), await seqs(2), await seqs(3)]).toEqual([[1, 2], [3, 4], [4]]);
  });
});

describe("the saves of a document", () => {
  const revisions = () => onShelf((shelf) => shelf.revisions());

  it("are kept as many as the namespace says, newest first", async () => {
    for (const version of [1, 2, 3, 4, 5]) await put(document(version), [entry(version)], DOCUMENTS);
    expect(await revisions()).toEqual(
      [5, 4, 3].map((version) => ({ version, at: version, document: `{"version":${version}}` })),
    );
    expect(await rowsOf("text")).toHaveLength(3);
    expect((await loaded())?.record).toEqual(document(5));
    await put(document(6), [entry(6)], { ...DOCUMENTS, revisions: 1 });
    expect(await revisions()).toHaveLength(1);
  });

  it("are kept also of a save that changed nothing", async () => {
    for (const version of [1, 2]) await put(document(version, "{}"), [entry(version)], DOCUMENTS);
    expect(await revisions()).toEqual([2, 1].map((version) => ({ version, at: version, document: "{}" })));
  });

  it("are never more than fits one answer, the newest always among them", async () => {
    const large = (version: number, length: number) => document(version, `{"a":"${"x".repeat(length)}"}`);
    const kept = async () => (await revisions()).map(({ version }) => version);
    for (const version of [1, 2, 3]) await put(large(version, 7_000_000), [entry(version)], DOCUMENTS);
    expect(await kept()).toEqual([3, 2]);
    await put(large(4, 15_728_630), [entry(4)], DOCUMENTS);
    expect(await kept()).toEqual([4]);
    await put(document(5), [entry(5)], DOCUMENTS);
    expect(await kept()).toEqual([5]);
    await put(document(6), [entry(6)], DOCUMENTS);
    expect(await kept()).toEqual([6, 5]);
  });

  it("are none in a namespace of tasks", async () => {
    await put(record(1), [entry(1)]);
    expect(await revisions()).toEqual([]);
  });
});
