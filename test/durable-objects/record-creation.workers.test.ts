import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { recordIndexName } from "../../durable-objects/names";
import { recordIndexStub, recordStub } from "../../durable-objects/record-rpc";
import { objectOf } from "../../durable-objects/record-spaces";
import type { RecordKey } from "../../src/service/record-store";
import { NOTHING, objects, storedIn } from "../stores/objects";
import { ANY, BLANK, breakIndex, content, created, listed, own, STRICT, strict } from "../stores/record-calls";
import { emptyRecords, evictAll, recordNamed } from "../stores/records";

const MINUTE = 60_000;

/** The index has reserved, and then the Worker was gone. */
const reserved = (key: RecordKey, now: number, idempotency: { key: string; digest: string } | null = null) =>
  recordIndexStub(objects, recordIndexName({ namespace: key.namespace.name, space: key.space })).reserveRecord(
    {
      id: key.id,
      tool: "",
      contextId: null,
      origin: "store",
      createdAt: now,
      deadline: now + 30_000,
      idempotency,
      maxStored: 10,
      maxLive: 10,
      maxPerMinute: 10,
      record: { mark: "lost", owner: "null", status: "working" },
    },
    now,
  );

afterEach(() => vi.restoreAllMocks());

describe("a create that was cut short", () => {
  it("leaves a place that is not listed, and that one of two sweeps gives back", async () => {
    const { records, clock, sweep } = await emptyRecords();
    await reserved(strict("a"), clock.now());
    expect([await listed(records, strict("a")), await records.read(strict("a"), ANY)]).toEqual([[], null]);
    expect(await created(records, strict("b"), {}, { maxRows: 1 })).toMatchObject({ kind: "limit", limit: "max_rows" });
    clock.advance(5 * MINUTE);
    const reports = await Promise.all([sweep(), sweep()]);
    expect(reports.map(({ dropped }) => dropped).sort()).toEqual([0, 1]);
    expect(await created(records, strict("b"), {}, { maxRows: 1 })).toMatchObject({ kind: "created" });
  });

  it("is taken up by a repeated call with its id or its key, before and after its deadline", async () => {
    const { records, clock } = await emptyRecords();
    const idempotency = { key: "k", digest: "d" };
    for (const wait of [0, 5 * MINUTE]) {
      await reserved(strict(`id ${wait}`), clock.now());
      clock.advance(wait);
      expect(await created(records, strict(`id ${wait}`))).toMatchObject({ kind: "created" });
    }
    await reserved(strict("keyed"), clock.now(), idempotency);
    expect(await created(records, strict("other"), {}, { idempotency })).toMatchObject({
      kind: "created",
      record: { id: "keyed" },
    });
    expect(await created(records, strict("other"), {}, { idempotency })).toMatchObject({
      kind: "existing",
      record: { id: "keyed" },
    });
  });

  it("cannot come true after its deadline", async () => {
    const { clock } = await emptyRecords();
    const key = strict("late");
    const stub = () => recordStub(objects, objectOf(objects, STRICT, "late"));
    const place = { index: recordIndexName(STRICT), mark: "lost", attempt: "first" };
    const made = { ...place, key, owner: null, content: content(), deadline: clock.now() };
    expect(await stub().create(made)).toEqual({ kind: "late" });
    expect(await storedIn(recordNamed(STRICT, "late"))).toEqual(NOTHING);
  });

  it("is told that it was the one when the platform repeats it, and nobody else is", async () => {
    const { clock } = await emptyRecords();
    const key = strict("twice");
    const stub = () => recordStub(objects, objectOf(objects, STRICT, "twice"));
    const place = { index: recordIndexName(STRICT), mark: "m", attempt: "first" };
    const made = { ...place, key, owner: null, content: content(), deadline: clock.now() + MINUTE };
    const first = await stub().create(made);
    expect(first).toMatchObject({ kind: "created" });
    await evictDurableObject(recordNamed(STRICT, "twice"));
    expect(await stub().create(made)).toEqual(first);
    expect(await stub().create({ ...made, attempt: "second" })).toEqual({ kind: "taken" });
  });

  it("after the record was stored leaves a record that is listed, kept and counted", async () => {
    const { records, clock, sweep } = await emptyRecords();
    breakIndex("mirror");
    expect(await created(records, strict("a"), { task: { ...BLANK, status: "failed" } })).toMatchObject({
      kind: "created",
    });
    vi.restoreAllMocks();
    await runInDurableObject(recordNamed(STRICT, "a"), (_, { storage }) => storage.deleteAlarm());
    await evictAll();
    expect([await listed(records, strict("")), await listed(records, strict(""), "failed")]).toEqual([["a"], ["a"]]);
    expect(await created(records, strict("a"))).toEqual({ kind: "taken" });
    clock.advance(5 * MINUTE);
    expect(await sweep()).toMatchObject({ examined: 1, removed: 0, dropped: 0 });
    expect(await sweep()).toMatchObject({ examined: 0 });
    expect(await listed(records, strict(""), "failed")).toEqual(["a"]);
  });
});

describe("the caps", () => {
  it("of the deployment hold where owners are apart, and expired records take no place", async () => {
    const { records, clock } = await emptyRecords({ maxTasksPerOwner: 2 });
    for (const id of ["a", "b"]) await created(records, own("o", id), { ttlMs: MINUTE });
    const limit = { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: 2 };
    expect(await created(records, own("o", "c"))).toEqual(limit);
    expect(await created(records, own("o", "c"), {}, { maxRows: 3 })).toEqual(limit);
    expect(await created(records, own("o", "c"), {}, { maxRows: 1 })).toEqual({
      kind: "limit",
      limit: "max_rows",
      value: 1,
    });
    expect(await created(records, own("p", "c"))).toMatchObject({ kind: "created" });
    for (const id of ["a", "b", "c"]) expect(await created(records, strict(id))).toMatchObject({ kind: "created" });
    clock.advance(2 * MINUTE);
    expect(await created(records, own("o", "c"))).toMatchObject({ kind: "created" });
  });

  it("of a minute hold where owners are apart, also for who removes what was made", async () => {
    for (const removes of [false, true]) {
      const { records } = await emptyRecords({ createsPerMinute: 2 });
      const kinds: string[] = [];
      for (const id of ["a", "b", "c", "d", "e"]) {
        kinds.push((await created(records, own("o", id))).kind);
        if (removes) await records.remove(own("o", id), ANY);
      }
      // A minute may begin in between.
      expect(kinds).toContain("rate");
      for (const id of ["a", "b", "c"]) expect(await created(records, strict(id))).toMatchObject({ kind: "created" });
    }
  });
});
