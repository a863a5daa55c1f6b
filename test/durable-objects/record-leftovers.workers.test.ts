// Whatever fails on the way, a record that goes leaves nothing behind.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { recordIndexName } from "../../durable-objects/names";
import { OwnerIndex } from "../../durable-objects/owner-index";
import { recordIndexStub } from "../../durable-objects/record-rpc";
import type { RecordKey } from "../../src/service/record-store";
import { directoryOf, NOTHING, objects, storedIn } from "../stores/objects";
import {
  ANY,
  breakIndex,
  created,
  file,
  holdIndex,
  listed,
  own,
  setStatus,
  STRICT,
  strict,
} from "../stores/record-calls";
import { emptyRecords, evictAll, indexOfSpace, namespaceNamed, recordMinted, recordNamed } from "../stores/records";

const MINUTE = 60_000;

afterEach(() => vi.restoreAllMocks());

describe("an index that cannot be reached", () => {
  it("loses no write: the record's alarm tells it later, and nothing of that is left", async () => {
    const { records } = await emptyRecords();
    await created(records, strict("a"));
    breakIndex("mirror");
    expect(await setStatus(records, strict("a"), "completed")).toMatchObject({ kind: "written" });
    expect((await records.read(strict("a"), ANY))?.task?.status).toBe("completed");
    vi.restoreAllMocks();
    expect(await listed(records, strict("a"), "completed")).toEqual([]);
    await evictAll();
    expect(await runDurableObjectAlarm(recordNamed(STRICT, "a"))).toBe(true);
    expect(await listed(records, strict("a"), "completed")).toEqual(["a"]);
    expect((await storedIn(recordNamed(STRICT, "a"))).alarm).toBeNull();
  });

  it("is told by the alarm also when the record's process died before it could", async () => {
    const { records } = await emptyRecords();
    await created(records, strict("a"));
    const { asked, release } = holdIndex("mirror");
    const writing = setStatus(records, strict("a"), "completed").catch(() => "lost");
    await asked();
    await runInDurableObject(recordNamed(STRICT, "a"), (_, state) => state.abort("reset")).catch(() => {});
    expect(await writing).toBe("lost");
    release();
    vi.restoreAllMocks();
    expect(await listed(records, strict("a"), "completed")).toEqual([]);
    expect(await runDurableObjectAlarm(recordNamed(STRICT, "a"))).toBe(true);
    expect(await listed(records, strict("a"), "completed")).toEqual(["a"]);
  });

  it("is not needed by writes that it would hear nothing new from", async () => {
    const { records } = await emptyRecords();
    await created(records, strict("a"));
    const mirror = vi.spyOn(OwnerIndex.prototype, "mirror");
    await records.write(strict("a"), ANY, { kind: "merge", version: null, changes: { document: '{"a":1}' } });
    expect(mirror).not.toHaveBeenCalled();
    expect((await storedIn(recordNamed(STRICT, "a"))).alarm).toBeNull();
    await records.write(strict("a"), ANY, { kind: "merge", version: null, changes: { ttlMs: MINUTE } });
    expect(mirror).toHaveBeenCalledTimes(1);
    expect((await storedIn(recordNamed(STRICT, "a"))).alarm).toBeNull();
  });

  it("holds up no removal: the record is gone at once, its place a little later, and then nothing is left", async () => {
    const { records } = await emptyRecords();
    await created(records, strict("a"));
    breakIndex("swept");
    expect(await records.remove(strict("a"), ANY)).toBe(true);
    await evictAll();
    expect([await records.read(strict("a"), ANY), await listed(records, strict(""))]).toEqual([null, []]);
    expect(await created(records, strict("b"), {}, { maxRows: 1 })).toMatchObject({ kind: "limit" });
    vi.restoreAllMocks();
    expect(await runDurableObjectAlarm(recordNamed(STRICT, "a"))).toBe(true);
    expect(await storedIn(recordNamed(STRICT, "a"))).toEqual(NOTHING);
    expect(await created(records, strict("b"), {}, { maxRows: 1 })).toMatchObject({ kind: "created" });
  });

  it("does not keep the id of a removed record from being used again", async () => {
    const { records } = await emptyRecords();
    await created(records, strict("a"), { document: '{"life":1}' });
    breakIndex("swept");
    expect(await records.remove(strict("a"), ANY)).toBe(true);
    vi.restoreAllMocks();
    const second = await created(records, strict("a"), { document: '{"life":2}' });
    expect(second).toMatchObject({ kind: "created", record: { version: 1, document: '{"life":2}' } });
    await runDurableObjectAlarm(recordNamed(STRICT, "a"));
    expect([(await records.read(strict("a"), ANY))?.document, await listed(records, strict(""))]).toEqual([
      '{"life":2}',
      ["a"],
    ]);
  });

  it("cannot take the next record of an id with it, though it hears late that the one before went", async () => {
    const { records, clock } = await emptyRecords();
    breakIndex("mirror");
    await created(records, strict("a"), { document: '{"life":1}' });
    breakIndex("swept");
    await records.remove(strict("a"), ANY);
    vi.restoreAllMocks();
    const [row] = (await storedIn(indexOfSpace(STRICT))).rows["task"] ?? [];
    expect(row).toMatchObject({ id: "a", version: 0 });
    expect(await created(records, strict("a"), { document: '{"life":2}' })).toMatchObject({ kind: "created" });
    const late = { id: "a", found: false, mark: String(row?.["mark"]) } as const;
    expect(await recordIndexStub(objects, recordIndexName(STRICT)).swept([late], clock.now())).toMatchObject({
      removed: 0,
      dropped: 0,
    });
    expect(await listed(records, strict(""))).toEqual(["a"]);
  });
});

describe("what is left behind", () => {
  it("by a removed record: nothing, in its object, its index and after a sweep in the directory (P04)", async () => {
    const { records, clock, sweep } = await emptyRecords();
    const minted = own("o", records.mint());
    await created(records, minted, { ttlMs: 60 * MINUTE });
    await records.write(minted, ANY, { kind: "set_questions", requests: '{"q":{}}' });
    expect(await records.remove(minted, ANY)).toBe(true);
    expect(await records.remove(minted, ANY)).toBe(false);
    expect(await storedIn(recordMinted(minted.id))).toEqual(NOTHING);
    const index = recordIndexName({ namespace: "default", space: "o" });
    expect(await storedIn(indexOfSpace({ namespace: "default", space: "o" }))).toEqual(NOTHING);
    clock.advance(5 * MINUTE);
    await sweep();
    expect((await storedIn(directoryOf(index))).rows).toEqual({ owner: [] });
  });

  it("by expired records: nothing, each counted by one of two sweeps", async () => {
    const { records, clock, sweep } = await emptyRecords();
    const keys = [strict("a"), strict("b"), own("o", "c"), own("o", records.mint())];
    for (const key of keys) await created(records, key, { ttlMs: MINUTE });
    const kept = strict("kept");
    await created(records, kept);
    clock.advance(10 * MINUTE);
    const reports = await Promise.all([sweep(), sweep()]);
    expect(reports.reduce((sum, { removed }) => sum + removed, 0)).toBe(keys.length);
    expect(await sweep()).toMatchObject({ removed: 0, failures: 0 });
    expect(await storedIn(recordNamed(STRICT, "a"))).toEqual(NOTHING);
    expect(await storedIn(recordMinted((keys[3] as RecordKey).id))).toEqual(NOTHING);
    expect(await storedIn(indexOfSpace({ namespace: "default", space: "o" }))).toEqual(NOTHING);
    expect(await listed(records, kept)).toEqual(["kept"]);
  });

  it("by records that have ended: nothing, once the retention is over", async () => {
    const { records, clock, sweep } = await emptyRecords({ retentionMs: 60 * MINUTE });
    await created(records, strict("a"));
    await setStatus(records, strict("a"), "completed");
    clock.advance(59 * MINUTE);
    expect(await sweep()).toMatchObject({ removed: 0 });
    clock.advance(10 * MINUTE);
    expect(await records.read(strict("a"), ANY)).toBeNull();
    expect(await sweep()).toMatchObject({ removed: 1 });
    expect(await storedIn(recordNamed(STRICT, "a"))).toEqual(NOTHING);
    expect(await storedIn(indexOfSpace(STRICT))).toEqual(NOTHING);
  });

  it("by a cleanup, in as many calls as it takes: what is not old enough, and nothing else", async () => {
    const { records, clock } = await emptyRecords();
    for (let n = 0; n < 40; n += 1) {
      await created(records, strict(`ended ${n}`));
      await setStatus(records, strict(`ended ${n}`), "failed");
    }
    await created(records, strict("expired"), { ttlMs: MINUTE });
    clock.advance(10 * MINUTE);
    await created(records, strict("fresh"));
    await setStatus(records, strict("fresh"), "failed");
    await created(records, strict("live"));
    const cleanup = (budget: number) => records.cleanup(namespaceNamed("strict"), null, 5 * MINUTE, budget);
    expect(await cleanup(11)).toEqual({ removed: 11, more: true });
    const both = await Promise.all([cleanup(10), cleanup(10)]);
    expect(both.map(({ more }) => more)).toEqual([true, true]);
    let removed = 11 + both.reduce((sum, one) => sum + one.removed, 0);
    for (let more = true; more;) {
      const one = await cleanup(10);
      removed += one.removed;
      more = one.more;
    }
    expect(removed).toBe(41);
    expect((await listed(records, strict(""))).sort()).toEqual(["fresh", "live"]);
    expect(await storedIn(recordNamed(STRICT, "ended 0"))).toEqual(NOTHING);
  });
});

describe("a record that cannot be read", () => {
  /** One of its texts has lost a part. */
  async function damaged() {
    const deployment = await emptyRecords();
    const { records } = deployment;
    await created(records, file("a"), { task: null, document: '{"a":1}', ttlMs: 60 * MINUTE });
    const object = recordNamed({ namespace: "files", space: null }, "a");
    await runInDurableObject(object, (_, { storage }) => void storage.sql.exec("DELETE FROM text"));
    await evictDurableObject(object);
    return { ...deployment, object };
  }

  it("reads as missing, and an error line says so (T4)", async () => {
    const { records, lines } = await damaged();
    expect(await records.read(file("a"), ANY)).toBeNull();
    expect(lines).toMatchObject([{ level: "error", message: "A record cannot be read." }]);
    expect([
      await records.write(file("a"), ANY, { kind: "cancel" }),
      await records.entries(file("a"), ANY, 0, 9),
      await records.remove(file("a"), ANY),
      await listed(records, file("")),
    ]).toEqual([null, null, false, []]);
  });

  it("gives its place to whoever stores its id anew", async () => {
    const { records } = await damaged();
    expect(await created(records, file("a"), { task: null, document: '{"b":2}' })).toMatchObject({ kind: "created" });
    expect(await records.read(file("a"), ANY)).toMatchObject({ version: 1, document: '{"b":2}' });
    expect(await listed(records, file(""))).toEqual(["a"]);
  });

  it("is collected when its time is over", async () => {
    const { clock, sweep, object } = await damaged();
    clock.advance(61 * MINUTE);
    expect(await sweep()).toMatchObject({ removed: 1, failures: 0 });
    expect(await storedIn(object)).toEqual(NOTHING);
  });
});
