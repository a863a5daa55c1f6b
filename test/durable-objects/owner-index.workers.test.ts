import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Directory } from "../../durable-objects/directory";
import { IndexRows } from "../../durable-objects/index-rows";
import { indexStub, type DirectoryEntry } from "../../durable-objects/rpc";
import { ownerIndexUpgrades } from "../../durable-objects/owner-index-sql";
import type { Mirror, Reservation } from "../../src/service/task-index";
import type { TaskSearch } from "../../src/service/task-store";
import type { Standing } from "../../src/task/standing";
import { directoryOf, emptyDeployment, indexNamed, NOTHING, objects, storedIn } from "../stores/objects";

const NAME = JSON.stringify(["n", "o"]);
const MINUTE = 60_000;
/** A whole minute, so that what the directory is told is easy to say. */
const NOW = 1_800_000_000_000 - (1_800_000_000_000 % MINUTE);
const FOREVER = Number.MAX_SAFE_INTEGER;

const index = () => indexStub(objects, NAME);
const stored = () => storedIn(indexNamed(NAME));
const inDirectory = async () =>
  (await storedIn(directoryOf(NAME))).rows["owner"] as unknown as DirectoryEntry[] | undefined;

const reservation = (id: string, over: Partial<Reservation> = {}): Reservation => ({
  id,
  tool: "tool",
  contextId: null,
  origin: "test",
  createdAt: NOW,
  deadline: NOW + 30_000,
  idempotency: null,
  maxStored: 10,
  maxLive: 10,
  maxPerMinute: 600,
  ...over,
});

const mirror = (id: string, version: number, over: Partial<Mirror> = {}): Mirror => ({
  id,
  version,
  phase: "working",
  outcome: null,
  standing: "working",
  statusAt: NOW,
  due: NOW + 60 * MINUTE,
  expiresAt: NOW + 60 * MINUTE,
  ...over,
});

const settled = { phase: "settled", outcome: "result", standing: "done" } as const;

const reserve = (id: string, over: Partial<Reservation> = {}, now = NOW) => index().reserve(reservation(id, over), now);

const listed = async () =>
  (await index().list({ namespace: "n", owner: "o", limit: 100 }, NOW)).rows.map(({ id, phase }) => [id, phase]);

/** Holds the directory's answers back. Flags and no promises: those of one object must not be awaited by another. */
function holdDirectory() {
  const state = { asked: false, released: false };
  const { note } = Directory.prototype;
  vi.spyOn(Directory.prototype, "note").mockImplementation(async function (this: Directory, name, due) {
    await note.call(this, name, due);
    state.asked = true;
    await vi.waitUntil(() => state.released);
  });
  return { waiting: () => vi.waitUntil(() => state.asked), release: () => void (state.released = true) };
}

beforeEach(() => emptyDeployment());

afterEach(() => vi.restoreAllMocks());

describe("reserve", () => {
  it("keeps both caps exactly under parallel calls", async () => {
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, n) => reserve(`t${n}`, { maxStored: 20, maxLive: 30 })),
    );
    expect(made.filter(({ kind }) => kind === "reserved")).toHaveLength(20);
    expect(made.filter(({ kind }) => kind === "limit")).toEqual(
      Array(30).fill({ kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: 20 }),
    );
  });

  it("of the same id again is the same reservation", async () => {
    const first = await reserve("a");
    expect(await reserve("a", { deadline: NOW + 99_000 })).toEqual(first);
    expect(await listed()).toEqual([["a", "submitted"]]);
    expect((await stored()).rows["tally"]).toMatchObject([{ stored: 1, live: 1 }]);
  });

  it("answers a known key with its task, also where the caps are reached", async () => {
    const idempotency = { key: "k", digest: "d" };
    await reserve("a", { idempotency, maxStored: 1 });
    const again = { kind: "existing", id: "a", deadline: NOW + 30_000 };
    expect(await reserve("b", { idempotency, maxStored: 1 })).toEqual({ ...again, confirmed: false });
    await index().mirror(mirror("a", 1));
    expect(await reserve("b", { idempotency, maxStored: 1 })).toEqual({ ...again, confirmed: true });
    expect(await reserve("b", { idempotency: { key: "k", digest: "other" } })).toEqual({ kind: "conflict" });
  });

  it("takes a key over from a task that has expired, which keeps its place until it is collected", async () => {
    const idempotency = { key: "k", digest: "d" };
    await reserve("a", { idempotency });
    await index().mirror(mirror("a", 1, { expiresAt: NOW + MINUTE }));
    expect(await reserve("b", { idempotency }, NOW + MINUTE - 1)).toMatchObject({ kind: "existing", id: "a" });
    expect(await reserve("b", { idempotency }, NOW + MINUTE)).toMatchObject({ kind: "reserved", id: "b" });
    expect(await reserve("c", { idempotency, maxStored: 2 }, NOW + MINUTE)).toMatchObject({
      kind: "existing",
      id: "b",
    });
    expect(await reserve("c", { maxStored: 2 }, NOW + MINUTE)).toMatchObject({ kind: "limit" });
  });

  it("holds the key of a late reservation until its object was asked", async () => {
    const idempotency = { key: "k", digest: "d" };
    await reserve("a", { idempotency });
    expect(await reserve("b", { idempotency }, NOW + 10 * MINUTE)).toMatchObject({
      kind: "existing",
      id: "a",
      confirmed: false,
    });
    await index().release("a");
    expect(await reserve("b", { idempotency }, NOW + 10 * MINUTE)).toMatchObject({ kind: "reserved", id: "b" });
  });

  it("that fails leaves nothing, and the next one succeeds", async () => {
    const kinds = await runInDurableObject(indexNamed(NAME), (_, { storage }) => {
      const rows = new IndexRows(storage);
      const insert = (over: object) =>
        rows.transaction(() => rows.insert({ ...reservation("a"), ...over }, NOW, NOW)).kind;
      expect(() => insert({ createdAt: null })).toThrow();
      expect(rows.isEmpty()).toBe(true);
      return insert({});
    });
    expect(kinds).toBe("reserved");
    expect((await stored()).rows["tally"]).toMatchObject([{ stored: 1, live: 1 }]);
  });
});

describe("release", () => {
  it("gives back a reservation, and nothing else", async () => {
    await reserve("a");
    await reserve("b");
    await index().mirror(mirror("b", 1));
    await index().release("a");
    await index().release("b");
    await index().release("unknown");
    expect(await listed()).toEqual([["b", "working"]]);
    expect((await stored()).rows["tally"]).toMatchObject([{ stored: 1, live: 1 }]);
  });
});

describe("mirror", () => {
  it("is taken in only when it is newer, and unknown rows stay unknown", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 3));
    await index().mirror(mirror("a", 2, settled));
    await index().mirror(mirror("a", 3, settled));
    await index().mirror(mirror("b", 3));
    expect(await listed()).toEqual([["a", "working"]]);
  });

  it("is not undone by an older one that had to wait for the directory", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 1));
    await index().swept([], NOW + 5 * MINUTE);
    const { waiting, release } = holdDirectory();
    const older = index().mirror(mirror("a", 2, { due: NOW + 6 * MINUTE }));
    await waiting();
    await index().mirror(mirror("a", 3, settled));
    release();
    await older;
    expect(await listed()).toEqual([["a", "settled"]]);
  });

  it("frees a live place once when a task settles", async () => {
    for (const id of ["a", "b"]) await reserve(id);
    expect(await reserve("c", { maxLive: 2 })).toMatchObject({ kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER" });
    await index().mirror(mirror("a", 4, settled));
    await index().mirror(mirror("a", 5, settled));
    expect((await stored()).rows["tally"]).toMatchObject([{ stored: 2, live: 1 }]);
    expect(await reserve("c", { maxLive: 2 })).toMatchObject({ kind: "reserved" });
    expect(await reserve("d", { maxLive: 2 })).toMatchObject({ kind: "limit" });
  });

  it("says whether anybody listens, through an eviction too", async () => {
    await reserve("a");
    expect(await index().mirror(mirror("a", 1))).toEqual({ watched: false });
    const response = await index().fetch("https://index/", { headers: { Upgrade: "websocket" } });
    const heard: unknown[] = [];
    response.webSocket?.addEventListener("message", ({ data }) => void heard.push(JSON.parse(String(data))));
    response.webSocket?.accept();
    expect(await index().mirror(mirror("a", 2))).toEqual({ watched: true });
    await evictDurableObject(indexNamed(NAME));
    expect(await index().touch("a", 3, "working")).toEqual({ watched: true });
    await expect
      .poll(() => heard)
      .toEqual([
        { kind: "ready" },
        { kind: "change", id: "a", version: 2, phase: "working" },
        { kind: "change", id: "a", version: 3, phase: "working" },
      ]);
    response.webSocket?.close(1000);
    await expect.poll(() => index().touch("a", 4, "working")).toEqual({ watched: false });
  });
});

describe("list", () => {
  it("names the rows no task has confirmed, and leaves out what has expired", async () => {
    for (const id of ["a", "b", "c"]) await reserve(id);
    await index().mirror(mirror("b", 1));
    await index().mirror(mirror("c", 1, { expiresAt: NOW }));
    const page = await index().list({ namespace: "n", owner: "o", limit: 100 }, NOW);
    expect(page).toMatchObject({ rows: [{ id: "b" }, { id: "a" }], reserved: ["a"], more: false });
  });
});

describe("search", () => {
  const search = (by: Partial<TaskSearch> = {}, now = NOW) =>
    index().search({ namespace: "n", owner: "o", limit: 100, ...by }, now);

  it("takes a row no task has confirmed for a submitted one, and names it", async () => {
    for (const id of ["a", "b", "c"]) await reserve(id);
    await index().mirror(mirror("b", 1));
    await index().mirror(mirror("c", 1, { expiresAt: NOW }));
    expect(await search()).toMatchObject({ rows: [{ id: "b" }, { id: "a" }], reserved: ["a"], total: 2 });
    const submitted = { rows: [{ id: "a", phase: "submitted", statusAt: NOW }], reserved: ["a"], total: 1 };
    expect(await search({ standing: "submitted" })).toMatchObject(submitted);
  });

  it("goes by the newest version only", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 2, settled));
    await index().mirror(mirror("a", 1, { standing: "input_required" }));
    expect(await search({ standing: "done" })).toMatchObject({ rows: [{ id: "a" }] });
    expect(await search({ standing: "input_required" })).toMatchObject({ rows: [], total: 0 });
  });

  it("finds the rows of an earlier deploy where they stand, as far as they say", async () => {
    const kinds = ["submitted", "working", "input_required", "result", "error", "cancelled", "rejected"];
    await runInDurableObject(indexNamed(NAME), (_, { storage }) => {
      for (const upgrade of ownerIndexUpgrades.slice(0, 2)) storage.sql.exec(upgrade);
      storage.kv.put("schema", 2);
      for (const [n, kind] of kinds.entries()) {
        storage.sql.exec(
          `INSERT INTO task (id, created_at, tool, context_id, origin, phase, outcome, status_at, version, deadline)
           VALUES (?, ${NOW}, 't', 'c', 'o', ?, ?, ?, 3, ${NOW})`,
          `${n}`,
          n < 3 ? kind : "settled",
          n < 3 ? null : kind,
          NOW + n,
        );
      }
    });
    const standings: Standing[] = ["submitted", "working", "input_required", "done", "failed", "cancelled", "rejected"];
    for (const [n, standing] of standings.entries()) {
      for (const by of [{ standing }, { standing, contextId: "c" }]) {
        expect(await search(by)).toMatchObject({ rows: [{ id: `${n}`, statusAt: NOW + n }], total: 1 });
      }
    }
    expect(await search()).toMatchObject({ total: 7 });
  });
});

describe("what is due", () => {
  it("comes earliest first: reservations past their deadline, tasks by what they said", async () => {
    for (const id of ["a", "b", "c", "d"]) await reserve(id);
    await index().mirror(mirror("b", 1, { due: NOW + 5_000 }));
    await index().mirror(mirror("c", 1, { due: null }));
    await index().mirror(mirror("d", 1, { due: NOW + 90 * MINUTE }));
    expect(await index().due(NOW + 4_999, 10)).toEqual([]);
    const due = [
      { id: "b", confirmed: true },
      { id: "a", confirmed: false },
    ];
    expect(await index().due(NOW + MINUTE, 10)).toEqual(due);
    expect(await index().due(NOW + MINUTE, 1)).toEqual(due.slice(0, 1));
  });

  it("goes when its storage is gone, and is counted once", async () => {
    for (const id of ["a", "b", "c"]) await reserve(id);
    await index().mirror(mirror("a", 1, settled));
    await index().mirror(mirror("b", 1));
    const gone = ["a", "b", "c"].map((id) => ({ id, found: false as const }));
    expect(await index().swept(gone.slice(0, 2), NOW)).toMatchObject({ removed: 2, dropped: 0 });
    expect(await index().swept(gone, NOW)).toMatchObject({ removed: 0, dropped: 1, nextDue: null });
    expect(await index().swept(gone, NOW)).toEqual({ removed: 0, dropped: 0, nextDue: null });
  });

  it("is told where a task stands, though its version is known already", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 4, { due: NOW }));
    const found = { id: "a", found: true as const, poked: false };
    await index().swept([{ ...found, mirror: mirror("a", 3, { due: NOW + 9 * MINUTE }) }], NOW);
    expect(await index().due(NOW, 10)).toHaveLength(1);
    await index().swept([{ ...found, mirror: mirror("a", 4, { due: NOW + 2 * MINUTE }) }], NOW);
    expect(await index().due(NOW + 2 * MINUTE - 1, 10)).toEqual([]);
    expect(await index().due(NOW + 2 * MINUTE, 10)).toHaveLength(1);
  });

  it("is left alone for a minute when it could not be asked or has just been set going", async () => {
    for (const id of ["a", "b"]) await reserve(id);
    const found = { id: "a", found: true as const, poked: true, mirror: mirror("a", 1, { due: NOW - MINUTE }) };
    expect(await index().swept([found], NOW + MINUTE, ["b"])).toEqual({
      removed: 0,
      dropped: 0,
      nextDue: NOW + 2 * MINUTE,
    });
    expect(await index().due(NOW + 2 * MINUTE - 1, 10)).toEqual([]);
    expect(await index().due(NOW + 2 * MINUTE, 10)).toHaveLength(2);
  });
});

describe("the directory", () => {
  it("is told once by a burst, in whole minutes, before any row is written", async () => {
    const note = vi.spyOn(Directory.prototype, "note");
    await Promise.all(Array.from({ length: 10 }, (_, n) => reserve(`t${n}`)));
    const [first] = (await inDirectory()) ?? [];
    expect(first).toMatchObject({ name: NAME, due: NOW });
    for (let n = 0; n < 10; n += 1) await reserve(`u${n}`, { maxStored: 99, maxLive: 99, deadline: NOW + MINUTE + n });
    await index().mirror(mirror("t1", 1));
    expect(await inDirectory()).toEqual([first]);
    expect(note).toHaveBeenCalledTimes(1);
  });

  it("is told again when something is due earlier than it knows", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 1, { due: NOW + 90 * MINUTE }));
    const { nextDue } = await index().swept([], NOW + 5 * MINUTE);
    expect(nextDue).toBe(NOW + 90 * MINUTE);
    const forget = () =>
      runInDurableObject(directoryOf(NAME), (_, { storage }) => void storage.sql.exec("DELETE FROM owner"));
    await forget();
    await index().mirror(mirror("a", 2, { due: NOW + 7 * MINUTE + 5 }));
    expect(await inDirectory()).toMatchObject([{ name: NAME, due: NOW + 7 * MINUTE }]);
    await forget();
    await index().mirror(mirror("a", 3, { due: NOW + 8 * MINUTE }));
    expect(await inDirectory()).toEqual([]);
    await index().mirror(mirror("a", 4, { due: NOW + 6 * MINUTE }));
    expect(await inDirectory()).toMatchObject([{ name: NAME, due: NOW + 6 * MINUTE }]);
  });

  it("is told of what is due, though a row that could not be asked is due before that", async () => {
    for (const id of ["a", "b"]) await reserve(id);
    await index().mirror(mirror("a", 1, { due: NOW + 90 * MINUTE }));
    await index().mirror(mirror("b", 1, { due: null }));
    await index().swept([], NOW + 5 * MINUTE);
    // Whoever says so here is no sweep: the directory hears nothing of it.
    expect(await index().swept([], NOW + 5 * MINUTE, ["a"])).toMatchObject({ nextDue: NOW + 6 * MINUTE });
    await runInDurableObject(directoryOf(NAME), (_, { storage }) => void storage.sql.exec("DELETE FROM owner"));
    await index().mirror(mirror("b", 2, { due: NOW + 60 * MINUTE }));
    expect(await inDirectory()).toMatchObject([{ name: NAME, due: NOW + 60 * MINUTE }]);
  });

  it("cannot be made to forget an owner whose row is still on its way", async () => {
    const { waiting, release } = holdDirectory();
    const reserving = reserve("a");
    await waiting();
    expect(await index().swept([], NOW)).toEqual({ removed: 0, dropped: 0, nextDue: NOW });
    release();
    expect(await reserving).toMatchObject({ kind: "reserved" });
    expect(await index().swept([], NOW)).toEqual({ removed: 0, dropped: 0, nextDue: NOW });
  });
});

describe("an index with nothing in it", () => {
  it("answers emptily and stores nothing", async () => {
    expect(await listed()).toEqual([]);
    expect(await index().due(FOREVER, 10)).toEqual([]);
    expect(await index().swept([{ id: "a", found: false }], NOW, ["b"])).toEqual({
      removed: 0,
      dropped: 0,
      nextDue: null,
    });
    expect(await index().mirror(mirror("a", 1))).toEqual({ watched: false });
    await index().touch("a", 1, "working");
    await index().release("a");
    expect(await reserve("a", { maxStored: 0 })).toMatchObject({ kind: "limit" });
    expect(await stored()).toEqual(NOTHING);
  });

  it("is left when its last row went, and begins anew", async () => {
    await reserve("a");
    await index().mirror(mirror("a", 1));
    await index().swept([{ id: "a", found: false }], NOW);
    expect(await stored()).toEqual(NOTHING);
    expect(await reserve("b")).toMatchObject({ kind: "reserved" });
    expect(await listed()).toEqual([["b", "submitted"]]);
  });
});
