import { evictDurableObject, reset, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { durableQueues } from "../../durable-objects/durable-queues";
import type { Picked, WorkQueue } from "../../src/service/work-queue";
import { describeWorkQueue } from "../stores/queue-contract";
import { NOTHING, objects, storedIn } from "../stores/objects";

const HOUR = 3_600_000;
const queue: WorkQueue = durableQueues(objects)("q");
const object = () => objects.QUEUES.getByName("q");

describeWorkQueue(
  "a queue in its object",
  async () => {
    await reset();
    return queue;
  },
  25,
);

const empty = () => reset();
const offer = (id: string, owner: string | null = "o", tool = "t") => queue.offer({ id, owner, tool }, 0);
const wish = (key: string, max = 1) => ({ key, max, now: 0, until: 30_000, tools: null });
const alarm = () => runDurableObjectAlarm(object());

describe("a queue whose object goes", () => {
  it("has kept what waits, what was picked, whose turn it is, and who watches", async () => {
    await empty();
    for (const id of "abc") await offer(id, "first");
    await offer("x", "second");
    const leaving = new AbortController();
    const heard: unknown[] = [];
    const watching = (async () => {
      for await (const message of queue.watch(leaving.signal)) heard.push(message);
    })();
    await expect.poll(() => heard.length).toBe(1);
    const picked = await queue.pick(wish("k"));
    await evictDurableObject(object());
    expect(await queue.pick(wish("k"))).toEqual(picked);
    await queue.agreed(picked, [], 0);
    await evictDurableObject(object());
    expect((await queue.pick(wish("l", 9))).map(({ id }) => id)).toEqual(["x", "b", "c"]);
    await evictDurableObject(object());
    await offer("d");
    await expect.poll(() => heard.length).toBe(2);
    leaving.abort();
    await watching;
  });

  it("is watched again by those whose sockets broke", async () => {
    await empty();
    const leaving = new AbortController();
    const heard: unknown[] = [];
    const watching = (async () => {
      for await (const message of queue.watch(leaving.signal)) heard.push(message);
    })();
    const sockets = () => runInDurableObject(object(), (_, state) => state.getWebSockets().length);
    await expect.poll(sockets).toBe(1);
    await runInDurableObject(object(), (_, state) => {
      for (const socket of state.getWebSockets()) socket.close(1012, "restart");
    });
    await offer("a");
    await expect.poll(() => heard.length).toBeGreaterThan(0);
    leaving.abort();
    await watching;
  });
});

describe("what is left behind", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("by looking: nothing", async () => {
    await empty();
    await queue.pick(wish("k"));
    await queue.withdraw("a");
    await queue.agreed([], [{ id: "a", lease: "l", until: 1 }], 0);
    const leaving = new AbortController();
    const watching = (async () => {
      for await (const _ of queue.watch(leaving.signal)) break;
    })();
    await expect.poll(() => runInDurableObject(object(), (__, state) => state.getWebSockets().length)).toBe(1);
    leaving.abort();
    await watching;
    expect(await storedIn(object())).toEqual(NOTHING);
  });

  it("by an empty queue: nothing, once its alarm has looked", async () => {
    await empty();
    await offer("a");
    await offer("b");
    await queue.pick(wish("k"));
    expect((await storedIn(object())).alarm).not.toBeNull();
    await alarm();
    expect((await storedIn(object())).rows["task"]).toHaveLength(2);
    await queue.withdraw("a");
    await queue.withdraw("b");
    await alarm();
    expect(await storedIn(object())).toEqual(NOTHING);
  });

  it("by a claim whose task never spoke of itself again: nothing, once its lease is over", async () => {
    await empty();
    await offer("a");
    await offer("b");
    const [held, lost] = (await queue.pick(wish("k", 2))) as [Picked, Picked];
    await queue.agreed([held], [], 0);
    const real = Date.now();
    const now = vi.spyOn(Date, "now");
    now.mockReturnValue(real + 31_000);
    await alarm();
    expect((await storedIn(object())).rows["task"]).toMatchObject([{ id: lost.id }]);
    now.mockReturnValue(real + 2 * HOUR);
    await alarm();
    expect(await storedIn(object())).toEqual(NOTHING);
  });

  it("by a task that waits, when it is spoken of again: itself, and its place", async () => {
    await empty();
    const real = Date.now();
    const now = vi.spyOn(Date, "now");
    await offer("a");
    await offer("b");
    now.mockReturnValue(real + HOUR / 2);
    await offer("a");
    now.mockReturnValue(real + HOUR + 1_000);
    await alarm();
    expect((await storedIn(object())).rows["task"]).toMatchObject([{ id: "a" }]);
    expect((await queue.pick(wish("k", 9))).map(({ id }) => id)).toEqual(["a"]);
  });

  it("is looked for at intervals, however much comes meanwhile", async () => {
    await empty();
    await offer("a");
    const { alarm: first } = await storedIn(object());
    const real = Date.now();
    vi.spyOn(Date, "now").mockReturnValue(real + 60_000);
    await offer("b");
    expect((await storedIn(object())).alarm).toBe(first);
  });

  it("by owners that have come and gone: no line, once whoever waits would come after them anyway", async () => {
    await empty();
    await offer("a", "patient", "rare");
    const lanes = async () =>
      ((await storedIn(object())).rows["lane"] as { owner: string }[]).map(({ owner }) => owner);
    for (const owner of ["one", "two", "three"]) {
      await offer(owner, owner);
      const picked = await queue.pick({ ...wish(owner), tools: ["t"] });
      await queue.agreed([], picked, 0);
    }
    expect(await lanes()).toEqual(['"patient"']);
    for (const owner of ["one", "two", "three"]) {
      await offer(owner, owner);
      await queue.agreed(await queue.pick({ ...wish(owner), tools: ["t"] }), [], 0);
    }
    expect(await lanes()).toHaveLength(4);
    await offer("b", "patient");
    await queue.agreed(await queue.pick(wish("p")), [], 0);
    expect(await lanes()).toEqual(['"patient"']);
  });
});

it("writes nothing for a claim that finds nothing", async () => {
  await empty();
  await offer("a", "o", "other");
  const written = () =>
    runInDurableObject(object(), (_, { storage }) => storage.sql.exec("SELECT total_changes() AS n").one()["n"]);
  const before = await written();
  for (let n = 0; n < 3; n += 1) expect(await queue.pick({ ...wish(`k${n}`), tools: ["t"] })).toEqual([]);
  expect(await written()).toBe(before);
});
