import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Directory } from "../../durable-objects/directory";
import { recordIndexName } from "../../durable-objects/names";
import { ownerIndexUpgrades } from "../../durable-objects/owner-index-sql";
import { NO_STATUS } from "../../durable-objects/record-mirror";
import { STATUSES as ALL } from "../../src/record/record";
import { recordIndexStub, type RecordRowQuery } from "../../durable-objects/record-rpc";
import { indexStub } from "../../durable-objects/rpc";
import type { Mirror, RecordFacts, Reservation } from "../../src/service/task-index";
import { emptyDeployment, indexNamed, NOTHING, objects, storedIn } from "../stores/objects";

const NAME = recordIndexName({ namespace: "n", space: "o" });
const MINUTE = 60_000;
const NOW = 1_800_000_000_000;
const FOREVER = Number.MAX_SAFE_INTEGER;

const index = () => recordIndexStub(objects, NAME);
const stored = () => storedIn(indexNamed(NAME));

const reservation = (id: string, over: Partial<Reservation> = {}, record: object = {}): Reservation => ({
  id,
  tool: "",
  contextId: null,
  origin: "store",
  createdAt: NOW,
  deadline: NOW + 30_000,
  idempotency: null,
  maxStored: FOREVER,
  maxLive: FOREVER,
  maxPerMinute: FOREVER,
  ...over,
  record: { mark: `${id}1`, owner: null, status: "working", ...record },
});

const reserve = (id: string, over: Partial<Reservation> = {}, record: object = {}) =>
  index().reserveRecord(reservation(id, over, record), NOW);

const mirror = (
  id: string,
  version: number,
  over: Partial<Mirror> = {},
  record: Partial<RecordFacts> = {},
): Mirror => ({
  id,
  version,
  phase: "working",
  outcome: null,
  standing: null,
  statusAt: NOW,
  due: null,
  expiresAt: null,
  ...over,
  record: { mark: `${id}1`, createdAt: NOW, status: "working", settledAt: null, ...record },
});

const listed = async (query: Partial<RecordRowQuery> = {}) =>
  (await index().listRecords({ owners: null, statuses: STATUSES, limit: 100, ...query }, NOW)).map(({ id }) => id);

beforeEach(() => emptyDeployment());

afterEach(() => vi.restoreAllMocks());

const STATUSES = [NO_STATUS, ...ALL];

describe("a reservation of a record", () => {
  it("is made once for an id: who comes again is told of it, and whether there is a record", async () => {
    expect(await reserve("a")).toEqual({ kind: "reserved", id: "a", deadline: NOW + 30_000, mark: "a1" });
    const again = { kind: "listed", id: "a", deadline: NOW + 30_000, mark: "a1" };
    expect(await reserve("a", { deadline: NOW + 99 }, { mark: "a2" })).toEqual({ ...again, confirmed: false });
    await index().mirror(mirror("a", 1));
    expect(await reserve("a", {}, { mark: "a2" })).toEqual({ ...again, confirmed: true });
    expect((await stored()).rows["tally"]).toMatchObject([{ stored: 1 }]);
  });

  it("is found by its key before its id, also where a cap is reached", async () => {
    const idempotency = { key: "k", digest: "d" };
    await reserve("a", { idempotency, maxStored: 1 });
    expect(await reserve("a", { idempotency, maxStored: 1 })).toMatchObject({ kind: "existing", id: "a" });
    expect(await reserve("b", { idempotency, maxStored: 1 })).toMatchObject({ kind: "existing", id: "a" });
    expect(await reserve("b", { idempotency: { key: "k", digest: "e" } })).toEqual({ kind: "conflict" });
    await reserve("b");
    expect(await reserve("b", { idempotency })).toMatchObject({ kind: "existing", id: "a" });
    expect(await reserve("c", { maxStored: 1 })).toMatchObject({ kind: "limit", value: 1 });
  });

  it("keeps each call's cap exactly under parallel calls", async () => {
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, n) => reserve(`r${n}`, { maxStored: n % 2 ? 9 : 5 })),
    );
    expect(made.filter(({ kind }) => kind === "reserved")).toHaveLength(9);
  });

  it("is given back by who made it, and only as what it was", async () => {
    await reserve("a");
    await index().release("a", "a2");
    expect(await index().hasRecord("a")).toBe(true);
    await index().release("a", "a1");
    expect(await index().hasRecord("a")).toBe(false);
  });
});

describe("the next life of an id", () => {
  it("is not touched by what comes late from the one before", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 5));
    expect(await index().swept([{ id: "a", found: false, mark: "a1" }], NOW)).toMatchObject({ removed: 1 });
    await reserve("a", {}, { mark: "a2" });
    const fresh = (await stored()).rows["task"];
    await index().mirror(mirror("a", 9, { phase: "settled", outcome: "result" }, { status: "completed" }));
    const late = { id: "a", found: true, mirror: mirror("a", 9), poked: false } as const;
    expect(await index().swept([late, { id: "a", found: false, mark: "a1" }], NOW)).toMatchObject({
      removed: 0,
      dropped: 0,
    });
    await index().release("a", "a1");
    expect((await stored()).rows["task"]).toEqual(fresh);
    await index().mirror(mirror("a", 1, {}, { mark: "a2" }));
    expect(await reserve("a")).toMatchObject({ kind: "listed", mark: "a2", confirmed: true });
  });
});

describe("news of an earlier life", () => {
  it("does not reach the next one, though it had to wait for the directory in between", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 1));
    await index().swept([], NOW + 5 * MINUTE);
    // Flags and no promises: those of one object must not be awaited by another.
    const state = { asked: false, released: false };
    vi.spyOn(Directory.prototype, "note").mockImplementationOnce(async () => {
      state.asked = true;
      await vi.waitUntil(() => state.released, { timeout: 20_000 });
    });
    const late = index().mirror(mirror("a", 9, { due: NOW + 9 * MINUTE }, { status: "failed" }));
    await vi.waitUntil(() => state.asked);
    await index().swept([{ id: "a", found: false, mark: "a1" }], NOW);
    await reserve("a", {}, { mark: "a2" });
    state.released = true;
    await late;
    expect((await stored()).rows["task"]).toMatchObject([{ mark: "a2", version: 0, status: "working" }]);
  });
});

describe("the list of records", () => {
  const OWNERS = [JSON.stringify("x"), JSON.stringify("y"), JSON.stringify(null)] as const;

  /** Ten for each owner and status, a millisecond apart, the owners' and statuses' mixed. */
  async function filled() {
    for (let n = 0; n < 90; n += 1) {
      const status = ["working", "completed", ""][Math.floor(n / 3) % 3] as string;
      const id = `r${String(n).padStart(2, "0")}`;
      await reserve(id, { createdAt: NOW + n }, { owner: OWNERS[n % 3], status });
      if (n % 2) await index().mirror(mirror(id, 1, {}, { createdAt: NOW + n, status }));
    }
  }

  const numbers = (wanted: (n: number) => boolean) =>
    Array.from({ length: 90 }, (_, n) => n)
      .filter(wanted)
      .map((n) => `r${String(n).padStart(2, "0")}`)
      .reverse();

  it("is newest first, by owners and status, what no record confirmed among it", async () => {
    await filled();
    expect(await listed()).toEqual(numbers(() => true));
    expect(await listed({ statuses: ["completed"] })).toEqual(numbers((n) => Math.floor(n / 3) % 3 === 1));
    expect(await listed({ owners: [OWNERS[1]] })).toEqual(numbers((n) => n % 3 === 1));
    expect(await listed({ owners: [OWNERS[0], OWNERS[2]] })).toEqual(numbers((n) => n % 3 !== 1));
    expect(await listed({ owners: [OWNERS[0]], statuses: ["working"] })).toEqual(numbers((n) => n % 9 === 0));
    expect(await listed({ statuses: ["failed"] })).toEqual([]);
  });

  it.each([
    ["all", {}],
    ["a status", { statuses: ["working"] }],
    ["two owners", { owners: [OWNERS[0], OWNERS[2]] }],
  ])("of %s comes in pages without gaps", async (_, query: Partial<RecordRowQuery>) => {
    await filled();
    const whole = await listed(query);
    const pages: string[] = [];
    for (let after: RecordRowQuery["after"]; ;) {
      const wanted = { owners: null, statuses: STATUSES, limit: 7, ...query, ...(after ? { after } : {}) };
      const rows = await index().listRecords(wanted, NOW);
      expect(rows.length).toBeLessThanOrEqual(8);
      pages.push(...rows.slice(0, 7).map(({ id }) => id));
      if (rows.length < 8) break;
      after = rows[6];
    }
    expect(pages).toEqual(whole);
  });

  it("follows a record's status, and leaves out what has expired", async () => {
    for (const id of ["a", "b"]) await reserve(id);
    await index().mirror(mirror("a", 1));
    await index().mirror(mirror("a", 2, { phase: "settled", outcome: "error" }, { status: "failed" }));
    expect([await listed({ statuses: ["working"] }), await listed({ statuses: ["failed"] })]).toEqual([["b"], ["a"]]);
    await index().mirror(mirror("a", 3, { phase: "settled", outcome: "error", expiresAt: NOW }, { status: "failed" }));
    expect([await listed(), await listed({ statuses: ["failed"] })]).toEqual([["b"], []]);
  });
});

describe("records that only the retention rules", () => {
  it("come in the order in which they ended, from after a row on", async () => {
    for (const id of ["a", "b", "c", "d"]) await reserve(id);
    const settled = { phase: "settled", outcome: "result" } as const;
    await index().mirror(mirror("a", 1, settled, { settledAt: NOW + 2 }));
    await index().mirror(mirror("b", 1, settled, { settledAt: NOW + 1 }));
    await index().mirror(mirror("c", 1, settled, { settledAt: NOW + 2 }));
    await index().mirror(mirror("d", 1, settled, { settledAt: null }));
    const rows = await index().settledBefore(NOW + 2, 10);
    expect(rows).toEqual([
      { id: "b", settledAt: NOW + 1, mark: "b1" },
      { id: "a", settledAt: NOW + 2, mark: "a1" },
      { id: "c", settledAt: NOW + 2, mark: "c1" },
    ]);
    expect(await index().settledBefore(NOW + 2, 1, rows[0])).toEqual([rows[1]]);
    expect(await index().settledBefore(NOW + 1, 10)).toEqual([rows[0]]);
  });
});

describe("an index of records", () => {
  it("that has none answers emptily and stores nothing", async () => {
    expect([await listed(), await index().hasRecord("a")]).toEqual([[], false]);
    expect(await index().settledBefore(FOREVER, 10)).toEqual([]);
    expect(await index().mirror(mirror("a", 1))).toEqual({ watched: false });
    await index().release("a", "a1");
    expect(await reserve("a", { maxStored: 0 })).toMatchObject({ kind: "limit" });
    expect(await stored()).toEqual(NOTHING);
  });

  it("keeps its rows out of what is searched for tasks", async () => {
    await reserve("a");
    await reserve("b");
    await index().mirror(mirror("b", 1));
    const query = { namespace: "n", owner: "o", limit: 9 };
    expect(await indexStub(objects, NAME).search(query, NOW)).toMatchObject({ rows: [], total: 0 });
  });

  it("finds the rows of a task's index from before there were records", async () => {
    await runInDurableObject(indexNamed(NAME), (_, { storage }) => {
      storage.sql.exec(ownerIndexUpgrades[0]);
      storage.kv.put("schema", 1);
      storage.sql.exec(
        `INSERT INTO task (id, created_at, tool, origin, phase, status_at, version, deadline)
         VALUES ('old', ${NOW}, 't', 'o', 'working', ${NOW}, 3, ${NOW})`,
      );
      storage.sql.exec("UPDATE tally SET stored = 1, live = 1");
    });
    const tasks = indexStub(objects, NAME);
    expect((await tasks.list({ namespace: "n", owner: "o", limit: 9 }, NOW)).rows).toMatchObject([{ id: "old" }]);
    const { record: _, ...news } = mirror("old", 4, { phase: "settled", outcome: "result", due: NOW });
    await tasks.mirror({ ...news, standing: "done" });
    expect(await tasks.due(NOW, 9)).toEqual([{ id: "old", confirmed: true }]);
    expect(await tasks.swept([{ id: "old", found: false }], NOW + MINUTE)).toMatchObject({ removed: 1 });
    expect(await stored()).toEqual(NOTHING);
  });
});
