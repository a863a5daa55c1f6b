// What only the durable store does: evictions, lost reservations, sockets that break, and leaving nothing behind.
import { evictDurableObject, listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { indexOf, taskStub } from "../../durable-objects/rpc";
import { ownerIndexName } from "../../durable-objects/names";
import type { TaskFeedMessage, TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { TaskDraft } from "../../src/task/task";
import { decodeTaskId } from "../../src/task-id";
import { draft as blank } from "../support/task";
import { emptyDeployment, indexNamed, directoryOf, NOTHING, objects, storedIn, taskOf } from "./objects";
import { accept } from "./tools";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KEY = { key: "k", digest: "d" };

const draftFor = (store: TaskStore, now: number, tool: string, facts: Partial<TaskDraft> = {}): TaskDraft =>
  blank({ id: store.mint(), namespace: "n", owner: "o", tool, createdAt: now, ttlMs: 24 * HOUR, ...facts });

const created = async (
  store: TaskStore,
  now: number,
  tool: string,
  facts: Partial<TaskDraft> = {},
): Promise<TaskSnapshot> => {
  const made = await store.create(draftFor(store, now, tool, facts));
  if (made.kind !== "created") throw new Error(`Not created: ${made.kind}`);
  return made.task;
};

const inPhase = (store: TaskStore, id: string, phase: string) =>
  expect.poll(async () => (await store.read({ id, owner: "o" }))?.stage.phase, { timeout: 10_000 }).toBe(phase);

const rowsOf = async (store: TaskStore) => (await store.list({ namespace: "n", owner: "o", limit: 100 })).rows;

const object = (id: string) => taskStub(objects, decodeTaskId(id) as string);

const INDEX = ownerIndexName("n", "o", "");

describe("an eviction between any two calls", () => {
  it("changes nothing that anybody sees", async () => {
    const { store, now } = await emptyDeployment();
    const text = "\ud800😀\u2028\u0000\r\n".repeat(100_000);
    const { id } = await created(store, now(), "ask", { arguments: JSON.stringify({ text }) });
    const ref = { id, owner: "o" };
    await inPhase(store, id, "input_required");
    const asked = await store.read(ref);
    await evictDurableObject(taskOf(id));
    expect(await store.read(ref)).toEqual(asked);
    await evictDurableObject(taskOf(id));
    await evictDurableObject(indexNamed(INDEX));
    expect(await store.tell(ref, { kind: "answer", answers: { name: accept(text) } })).toMatchObject({ changed: true });
    await inPhase(store, id, "settled");
    const done = await store.read(ref);
    await evictDurableObject(taskOf(id));
    await evictDurableObject(indexNamed(INDEX));
    expect(await store.read(ref)).toEqual(done);
    const { outcome } = (done as TaskSnapshot).stage as { outcome: { result: string } };
    expect((JSON.parse(outcome.result) as { content: { text: string }[] }).content[0]?.text === accept(text)).toBe(
      true,
    );
    expect(await store.tell(ref, { kind: "cancel" })).toEqual({ changed: false, task: done });
    expect(await rowsOf(store)).toMatchObject([{ id, phase: "settled", outcome: "result" }]);
  });

  it("keeps watchers and listeners, who hear what happens after it", async () => {
    const { store, now } = await emptyDeployment();
    const { id } = await created(store, now(), "ask");
    await inPhase(store, id, "input_required");
    const leaving = new AbortController();
    const heard: unknown[] = [];
    const listening = (async () => {
      for await (const message of store.listen("n", "o", leaving.signal)) heard.push(message);
    })();
    await expect.poll(() => heard).toEqual([{ kind: "ready" }]);
    const messages = collect(await store.watch({ id, owner: "o" }, { signal: leaving.signal }));
    await evictDurableObject(taskOf(id));
    await evictDurableObject(indexNamed(INDEX));
    await store.tell({ id, owner: "o" }, { kind: "cancel" });
    expect((await messages).map(nameOf)).toEqual(["snapshot", "cancelled"]);
    await expect.poll(() => heard.at(-1)).toMatchObject({ kind: "change", id, phase: "settled" });
    leaving.abort();
    await listening;
  });
});

describe("a socket that breaks", () => {
  /** As a deploy does it: every socket of the object is gone, and nobody said that it was over. */
  const breakSockets = (id: string) =>
    runInDurableObject(taskOf(id), (_, state) => {
      for (const socket of state.getWebSockets()) socket.close(1012, "restart");
      return state.getWebSockets().length;
    });

  it("is replaced: a new snapshot, then what was missed, nothing twice", async () => {
    const { store, now } = await emptyDeployment();
    const { id } = await created(store, now(), "ask");
    await inPhase(store, id, "input_required");
    const feed = await store.watch({ id, owner: "o" }, { after: 0, signal: new AbortController().signal });
    const messages: TaskFeedMessage[] = [];
    const watching = (async () => {
      for await (const message of feed ?? []) messages.push(message);
    })();
    await expect.poll(() => messages.map(nameOf)).toEqual(["snapshot", "created", "started", "asked"]);
    await breakSockets(id);
    await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("Ada") } });
    await watching;
    const events = messages.flatMap((message) => (message.kind === "event" ? [message.entry.event] : []));
    expect(events).toEqual(["created", "started", "asked", "answered", "started", "settled"]);
    const versions = messages.flatMap((message) => (message.kind === "snapshot" ? [message.task.version] : []));
    expect(versions.length).toBeGreaterThan(1);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  });

  it("is replaced when its object was reset in the middle of everything", async () => {
    const { store, now } = await emptyDeployment();
    const { id } = await created(store, now(), "ask");
    await inPhase(store, id, "input_required");
    const leaving = new AbortController();
    const heard: { kind: string }[] = [];
    const listening = (async () => {
      for await (const message of store.listen("n", "o", leaving.signal)) heard.push(message);
    })();
    await expect.poll(() => heard.length).toBe(1);
    const messages = collect(await store.watch({ id, owner: "o" }, { signal: leaving.signal }));
    for (const stub of [taskOf(id), indexNamed(INDEX)]) {
      await runInDurableObject(stub, (_, state) => state.abort("reset")).catch(() => {});
    }
    expect(await store.read({ id, owner: "o" })).toMatchObject({ id });
    expect(await rowsOf(store)).toMatchObject([{ id, phase: "input_required" }]);
    await expect.poll(() => heard.length, { timeout: 5_000 }).toBe(2);
    await store.tell({ id, owner: "o" }, { kind: "cancel" });
    expect((await messages).at(-1)).toMatchObject({ kind: "event", entry: { event: "cancelled" } });
    await expect.poll(() => heard.at(-1)).toMatchObject({ kind: "change", id, phase: "settled" });
    leaving.abort();
    await listening;
  });

  it("ends with gone when there is no task any more", async () => {
    const { store, now, advance } = await emptyDeployment();
    const { id } = await created(store, now(), "hang", { ttlMs: MINUTE });
    const messages: TaskFeedMessage[] = [];
    const feed = await store.watch({ id, owner: "o" }, { signal: new AbortController().signal });
    const watching = (async () => {
      for await (const message of feed ?? []) messages.push(message);
    })();
    await expect.poll(() => messages.length).toBeGreaterThan(0);
    advance(HOUR);
    await breakSockets(id);
    await watching;
    expect(messages.at(-1)).toEqual({ kind: "gone" });
  });

  it("of a listener is replaced too, and says ready again", async () => {
    const { store, now } = await emptyDeployment();
    const leaving = new AbortController();
    const heard: { kind: string }[] = [];
    const listening = (async () => {
      for await (const message of store.listen("n", "o", leaving.signal)) heard.push(message);
    })();
    await expect.poll(() => heard).toEqual([{ kind: "ready" }]);
    await runInDurableObject(indexNamed(INDEX), (_, state) => {
      for (const socket of state.getWebSockets()) socket.close(1012, "restart");
    });
    await expect.poll(() => heard).toEqual([{ kind: "ready" }, { kind: "ready" }]);
    const { id } = await created(store, now(), "hang");
    await expect.poll(() => heard.at(-1)).toMatchObject({ kind: "change", id });
    leaving.abort();
    await listening;
  });
});

describe("a create that was cut short", () => {
  /** The index has reserved, and then the Worker was gone. */
  const reserved = (draft: TaskDraft, now: number, idempotency: typeof KEY | null = null) => {
    const { id, tool, contextId, origin, createdAt } = draft;
    const caps = { maxStored: 1, maxLive: 1, maxPerMinute: 600 };
    return indexOf(objects, draft).reserve(
      { id, tool, contextId, origin, createdAt, deadline: now + 30_000, idempotency, ...caps },
      now,
    );
  };

  it("leaves a place that is not listed, and that a sweep gives back", async () => {
    const { store, now, advance } = await emptyDeployment({ maxTasksPerOwner: 1 });
    const lost = draftFor(store, now(), "hang");
    await reserved(lost, now());
    expect(await rowsOf(store)).toEqual([]);
    expect(await store.read({ id: lost.id, owner: "o" })).toBeNull();
    expect((await store.create(draftFor(store, now(), "hang"))).kind).toBe("limit");
    expect(await store.sweep(100)).toMatchObject({ removed: 0, dropped: 0 });
    advance(5 * MINUTE);
    const reports = await Promise.all([store.sweep(100), store.sweep(100)]);
    expect(reports.map(({ dropped }) => dropped).sort()).toEqual([0, 1]);
    expect((await store.create(draftFor(store, now(), "hang"))).kind).toBe("created");
  });

  it("leaves a place that no search finds, counts or stops at", async () => {
    const { store, now } = await emptyDeployment();
    await reserved(draftFor(store, now(), "hang", { createdAt: now() + HOUR }), now());
    const search = () => store.search({ namespace: "n", owner: "o", limit: 1 });
    expect(await search()).toEqual({ rows: [], more: false, total: 0 });
    const { id } = await created(store, now(), "hang");
    expect(await search()).toMatchObject({ rows: [{ id }], more: false, total: 1 });
  });

  it("cannot come true after its deadline", async () => {
    const { store, now, advance } = await emptyDeployment();
    const lost = draftFor(store, now(), "hang");
    await reserved(lost, now());
    advance(5 * MINUTE);
    await store.sweep(100);
    expect(await object(lost.id).create(lost, now() - 1)).toEqual({ kind: "late" });
    expect(await store.read({ id: lost.id, owner: "o" })).toBeNull();
    expect(await storedIn(taskOf(lost.id))).toEqual(NOTHING);
  });

  it("is taken up by a repeated call with its key", async () => {
    const { store, now } = await emptyDeployment();
    const lost = draftFor(store, now(), "hang");
    await reserved(lost, now(), KEY);
    expect(await store.create(draftFor(store, now(), "hang"), KEY)).toMatchObject({
      kind: "created",
      task: { id: lost.id },
    });
    expect(await rowsOf(store)).toMatchObject([{ id: lost.id }]);
  });

  it("gives its key and its place back to a repeated call that comes after its deadline", async () => {
    const { store, now, advance } = await emptyDeployment({ maxTasksPerOwner: 1 });
    const lost = draftFor(store, now(), "hang");
    await reserved(lost, now(), KEY);
    advance(5 * MINUTE);
    const made = await store.create(draftFor(store, now(), "hang"), KEY);
    expect(made.kind).toBe("created");
    expect(made).not.toMatchObject({ task: { id: lost.id } });
    expect(await rowsOf(store)).toHaveLength(1);
  });

  it("is taken up by a repeated create of the same id, before and after its deadline", async () => {
    const { store, now, advance } = await emptyDeployment({ maxTasksPerOwner: 2 });
    for (const wait of [0, 5 * MINUTE]) {
      const lost = draftFor(store, now(), "hang");
      await reserved(lost, now());
      advance(wait);
      expect(await store.create(lost)).toMatchObject({ kind: "created", task: { id: lost.id } });
    }
    expect(await rowsOf(store)).toHaveLength(2);
  });

  it("is found by the list and the key when only its index never heard of it", async () => {
    const { store, now, advance } = await emptyDeployment();
    const draft = draftFor(store, now(), "hang");
    await reserved(draft, now(), KEY);
    // Nothing runs: the alarm that would tell the index is taken away.
    await object(draft.id).create(draft, now() + 30_000);
    await runInDurableObject(taskOf(draft.id), (_, { storage }) => storage.deleteAlarm());
    expect(await rowsOf(store)).toMatchObject([{ id: draft.id, phase: "submitted" }]);
    advance(5 * MINUTE);
    expect(await store.create(draftFor(store, now(), "hang"), KEY)).toMatchObject({
      kind: "existing",
      task: { id: draft.id },
    });
    expect(await store.sweep(100)).toMatchObject({ examined: 1, removed: 0, dropped: 0, poked: 1 });
    await inPhase(store, draft.id, "working");
  });
});

describe("an idempotency key", () => {
  it("is free when its task has expired before its index heard of it", async () => {
    const { store, now, advance } = await emptyDeployment();
    const first = draftFor(store, now(), "hang", { ttlMs: MINUTE });
    expect(await store.create(first, KEY)).toMatchObject({ kind: "created" });
    await runInDurableObject(
      indexNamed(INDEX),
      (_, { storage }) => void storage.sql.exec("UPDATE task SET version = 0"),
    );
    advance(HOUR);
    const second = await store.create(draftFor(store, now(), "hang"), KEY);
    expect(second.kind).toBe("created");
    expect((await rowsOf(store)).map((row) => row.id)).toEqual([(second as { task: TaskSnapshot }).task.id]);
    expect(await storedIn(taskOf(first.id))).toEqual(NOTHING);
  });

  it("is free when its task is gone, whatever the index believes", async () => {
    const { store, now } = await emptyDeployment({ maxTasksPerOwner: 1 });
    const first = await store.create(draftFor(store, now(), "hang"), KEY);
    const { id } = (first as { task: TaskSnapshot }).task;
    await expect.poll(async () => (await rowsOf(store))[0]?.phase).toBe("working");
    await store.tell({ id, owner: "o" }, { kind: "cancel" });
    await runInDurableObject(taskOf(id), (_, { storage }) => storage.deleteAll());
    await evictDurableObject(taskOf(id));
    const second = await store.create(draftFor(store, now(), "hang"), KEY);
    expect(second.kind).toBe("created");
    expect((await rowsOf(store)).map((row) => row.id)).toEqual([(second as { task: TaskSnapshot }).task.id]);
  });
});

describe("what is left behind", () => {
  it("by a collected task: nothing, no alarm, and nothing again when it is asked for later (P04)", async () => {
    const { store, now, advance } = await emptyDeployment({ minTtlMs: 1_000 });
    const { id } = await created(store, now(), "nap", {
      arguments: JSON.stringify({ until: now() + 30 * MINUTE }),
      ttlMs: HOUR,
    });
    await expect
      .poll(async () => (await store.read({ id, owner: "o" }))?.stage)
      .toMatchObject({ activity: { kind: "sleeping" } });
    expect((await storedIn(taskOf(id))).alarm).not.toBeNull();
    advance(2 * HOUR);
    await store.sweep(100);
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(false);
    expect(await store.read({ id, owner: "o" })).toBeNull();
    expect(await store.tell({ id, owner: "o" }, { kind: "cancel" })).toBeNull();
    await evictDurableObject(taskOf(id));
    expect(await store.read({ id, owner: "o" })).toBeNull();
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    expect(await storedIn(indexNamed(INDEX))).toEqual(NOTHING);
    expect((await storedIn(directoryOf(INDEX))).rows).toEqual({ owner: [] });
  });

  it("by guessing ids: no object, though two hundred were tried", async () => {
    const { store, now } = await emptyDeployment();
    const { id } = await created(store, now(), "hang");
    const before = (await listDurableObjectIds(objects.TASKS)).map(String).sort();
    const forged = Array.from({ length: 200 }, () => store.mint()).map(altered);
    for (const guess of [...forged, altered(id)]) {
      const ref = { id: guess, owner: "o" };
      expect(store.recognises(guess)).toBe(false);
      expect([
        await store.read(ref),
        await store.tell(ref, { kind: "cancel" }),
        await store.watch(ref, { signal: new AbortController().signal }),
      ]).toEqual([null, null, null]);
    }
    expect((await listDurableObjectIds(objects.TASKS)).map(String).sort()).toEqual(before);
  });

  it("by asking for a valid id that was never used: an empty object", async () => {
    const { store } = await emptyDeployment();
    const id = store.mint();
    expect(await store.read({ id, owner: "o" })).toBeNull();
    expect(await store.tell({ id, owner: "o" }, { kind: "cancel" })).toBeNull();
    expect(await store.watch({ id, owner: "o" }, { signal: new AbortController().signal })).toBeNull();
    expect(await object(id).examine()).toMatchObject({ found: false });
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
  });

  it("by listing and sweeping where nothing is: nothing", async () => {
    const { store } = await emptyDeployment();
    expect(await rowsOf(store)).toEqual([]);
    expect(await store.sweep(100)).toEqual({
      owners: 0,
      examined: 0,
      removed: 0,
      dropped: 0,
      poked: 0,
      failures: 0,
      calls: 8,
      finished: true,
    });
    expect(await storedIn(indexNamed(INDEX))).toEqual(NOTHING);
    expect(await storedIn(directoryOf(INDEX))).toEqual(NOTHING);
  });
});

/** Another byte in the random half, so that the platform's tag no longer fits. */
function altered(id: string): string {
  return id.slice(0, 5) + (id[5] === "A" ? "B" : "A") + id.slice(6);
}

const nameOf = (message: TaskFeedMessage): string => (message.kind === "event" ? message.entry.event : message.kind);

async function collect(feed: AsyncIterable<TaskFeedMessage> | null): Promise<TaskFeedMessage[]> {
  const messages: TaskFeedMessage[] = [];
  for await (const message of feed ?? []) messages.push(message);
  return messages;
}
