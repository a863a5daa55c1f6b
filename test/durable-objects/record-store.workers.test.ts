// What only the durable store of records does: evictions, ids that lead nowhere, lists of large records.
import { listDurableObjectIds } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { mintedId } from "../../durable-objects/minted-id";
import { recordName } from "../../durable-objects/names";
import type { Asker, StoredRecord } from "../../src/record/record";
import { NOTHING, objects, storedIn } from "../stores/objects";
import { ANY, breakIndex, created, file, listed, own, setStatus, strict } from "../stores/record-calls";
import { emptyRecords, evictAll, indexOfSpace, namespaceNamed, recordMinted } from "../stores/records";

const MINUTE = 60_000;

afterEach(() => vi.restoreAllMocks());

describe("an eviction between any two calls", () => {
  it("changes nothing that anybody sees", async () => {
    const { records } = await emptyRecords();
    const key = strict("a/1");
    const document = JSON.stringify({ text: "\ud800😀\u2028\u0000\r\n".repeat(100_000) });
    await created(records, key, { document });
    const steps: readonly (() => Promise<unknown>)[] = [
      () => records.read(key, ANY),
      () => records.write(key, ANY, { kind: "set_questions", requests: '{"q":{}}' }),
      () => records.write(key, ANY, { kind: "resolve", responses: '{"q":"yes"}' }),
      () => records.entries(key, ANY, 0, 10),
      () => setStatus(records, key, "completed"),
      () => listed(records, key, "completed"),
    ];
    const came: unknown[] = [];
    for (const step of steps) {
      await evictAll();
      came.push(await step());
    }
    expect(came).toMatchObject([
      { version: 1, document },
      { kind: "written", record: { version: 2, task: { status: "input_required" } } },
      { kind: "written", record: { version: 3, task: { status: "working", inputResponses: '{"q":"yes"}' } } },
      [{ seq: 1 }, { seq: 2 }, { seq: 3, event: { kind: "answered", key: "q", response: '"yes"' } }],
      { kind: "written", record: { version: 4, document } },
      ["a/1"],
    ]);
    await evictAll();
    expect(await records.remove(key, ANY)).toBe(true);
    await evictAll();
    expect([await records.read(key, ANY), await listed(records, key)]).toEqual([null, []]);
  });

  it("keeps a document of 10 MiB to the byte", async () => {
    const { records, limits } = await emptyRecords();
    const key = file("large");
    const document = `{"a":"${"ä".repeat((limits.resultLimitBytes - 8) / 2)}"}`;
    await created(records, key, { task: null, document });
    await evictAll();
    expect((await records.read(key, ANY))?.document === document).toBe(true);
    const replaced = { task: null, document: document.replace("ä", "ö") };
    const maxBytes = limits.resultLimitBytes;
    await records.write(key, ANY, { kind: "replace", version: 1, content: replaced, maxBytes });
    await evictAll();
    expect((await records.read(key, ANY))?.document === replaced.document).toBe(true);
  });
});

describe("asking for what nobody stored", () => {
  it("wakes no record and stores nothing, though two hundred ids were tried", async () => {
    const { records } = await emptyRecords();
    const minted = records.mint();
    await created(records, own("o", minted));
    const forged = Array.from({ length: 100 }, () => altered(records.mint()));
    const guessed = Array.from({ length: 100 }, (_, n) => `guess-${n}`);
    for (const id of [...forged, ...guessed, altered(minted)]) {
      const key = own("nobody yet", id);
      expect([
        await records.read(key, ANY),
        await setStatus(records, key, "failed"),
        await records.remove(key, ANY),
        await records.entries(key, ANY, 0, 1),
        await records.revisions(key, ANY),
        await records.watch(key, ANY, 0, new AbortController().signal),
      ]).toEqual([null, null, false, null, null, null]);
    }
    const space = { namespace: "default", space: "nobody yet" };
    const guesses = guessed.map((id) => objects.RECORDS.idFromName(recordName(space, id)));
    const woken = await listDurableObjectIds(objects.RECORDS);
    expect(woken.map(String)).toContain(String(mintedId(objects.RECORDS, minted)));
    expect(guesses.filter((id) => woken.some((one) => one.equals(id)))).toEqual([]);
    expect(await storedIn(indexOfSpace(space))).toEqual(NOTHING);
  });

  it("by an id that was minted and never used leaves an empty object", async () => {
    const { records } = await emptyRecords();
    const key = own("o", records.mint());
    expect(await records.read(key, ANY)).toBeNull();
    expect(await records.watch(key, ANY, 0, new AbortController().signal)).toBeNull();
    expect(await storedIn(recordMinted(key.id))).toEqual(NOTHING);
  });

  it("in lists and cleanups stores nothing either", async () => {
    const { records } = await emptyRecords();
    expect(await listed(records, own("o", ""))).toEqual([]);
    expect(await records.cleanup(namespaceNamed("default"), "o", 0, 10)).toEqual({ removed: 0, more: false });
    expect(await storedIn(indexOfSpace({ namespace: "default", space: "o" }))).toEqual(NOTHING);
  });
});

describe("an id that was minted", () => {
  it("finds its record without its owner, by whoever may ask for any", async () => {
    const { records } = await emptyRecords();
    const id = records.mint();
    const made = await created(records, own("o", id));
    const { record } = made as { record: StoredRecord };
    expect(await records.read(own(null, id), ANY)).toEqual(record);
    expect(await records.read(own(null, id), { kind: "owner", owner: null })).toBeNull();
    expect(await records.read(own("p", id), ANY)).toBeNull();
    expect(await records.read({ ...own(null, id), namespace: namespaceNamed("strict") }, ANY)).toBeNull();
    expect(await records.remove(own(null, id), ANY)).toBe(true);
    expect(await storedIn(indexOfSpace({ namespace: "default", space: "o" }))).toEqual(NOTHING);
  });

  it("is used once: another space gets no record by it, and keeps no place", async () => {
    const { records } = await emptyRecords();
    const id = records.mint();
    await created(records, own("o", id));
    expect(await created(records, own("p", id))).toEqual({ kind: "taken" });
    expect(await records.read(own("p", id), ANY)).toBeNull();
    expect((await storedIn(indexOfSpace({ namespace: "default", space: "p" }))).rows).toMatchObject({
      task: [],
      tally: [{ stored: 0 }],
    });
    expect(await records.read(own("o", id), ANY)).toMatchObject({ owner: "o" });
  });

  it("spreads nobody's records over many indexes, which list and cleanup know", async () => {
    const { records, clock } = await emptyRecords();
    const ids = Array.from({ length: 12 }, () => records.mint());
    for (const id of ids) {
      await created(records, own(null, id), { ttlMs: MINUTE });
      clock.advance(1);
    }
    expect(await storedIn(indexOfSpace({ namespace: "default", space: null }))).toEqual(NOTHING);
    const { namespace } = own(null, "");
    const page = await records.list({ namespace, space: null, asker: ANY, limit: 5 });
    expect(page.records.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 5));
    const rest = await records.list({ namespace, space: null, asker: ANY, limit: 9, after: page.next as never });
    expect([rest.records.map(({ id }) => id), rest.next]).toEqual([ids.toReversed().slice(5), null]);
    clock.advance(5 * MINUTE);
    expect(await records.cleanup(namespace, null, 0, 100)).toEqual({ removed: 12, more: false });
  });

  it("of nobody's record is counted with the others that are counted", async () => {
    const { records } = await emptyRecords();
    const made = await Promise.all(
      Array.from({ length: 20 }, () => created(records, own(null, records.mint()), {}, { maxRows: 5 })),
    );
    expect(made.filter(({ kind }) => kind === "created")).toHaveLength(5);
  });
});

describe("a list", () => {
  it("reads no more than six records at once, and ends a page early where they are long", async () => {
    const { records } = await emptyRecords();
    const document = JSON.stringify({ a: "x".repeat(1_000_000) });
    for (let n = 0; n < 10; n += 1) await created(records, file(`f${n}`), { task: null, document });
    const { namespace } = file("");
    const first = await records.list({ namespace, space: null, asker: ANY, limit: 100 });
    expect([first.records.length, first.next?.id]).toEqual([6, "f4"]);
    const rest = await records.list({ namespace, space: null, asker: ANY, limit: 100, after: first.next as never });
    expect([rest.records.map(({ id }) => id), rest.next]).toEqual([["f3", "f2", "f1", "f0"], null]);
  });

  it("leaves out whose status the index has not heard of, and shows whose it sees", async () => {
    const { records } = await emptyRecords();
    for (const id of ["a", "b"]) await created(records, strict(id), {}, {}, id);
    breakIndex("mirror");
    await setStatus(records, strict("a"), "completed");
    expect(await listed(records, strict(""), "working")).toEqual(["b"]);
    const { namespace } = strict("");
    const asker: Asker = { kind: "owner", owner: "a" };
    const { records: own } = await records.list({ namespace, space: null, asker, limit: 9 });
    expect(own.map(({ id }) => id)).toEqual(["a"]);
  });
});

/** Another byte in the random half, so that the platform's tag no longer fits. */
const altered = (id: string): string => id.slice(0, 5) + (id[5] === "A" ? "B" : "A") + id.slice(6);
