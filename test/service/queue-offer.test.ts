import { expect, it } from "vitest";
import { MemoryTaskStore } from "../../src/service/memory-task-store";
import type { QueueCalls } from "../../src/service/queue-offer";
import { limits, movableClock } from "../support/memory";
import { draft } from "../support/task";
import { registry } from "../stores/tools";

const RUNS = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;

async function setUp(queues: QueueCalls) {
  const { now, advance } = movableClock();
  const lines: string[] = [];
  const store = new MemoryTaskStore({
    queues,
    registry,
    limits,
    clock: now,
    fetch: () => Promise.reject(new Error("These tools fetch nothing.")),
    log: (_, message) => void lines.push(message),
  });
  const facts = { namespace: "n", owner: "o", createdAt: now(), ttlMs: null, runs: RUNS };
  const made = await store.create(draft({ id: store.mint(), ...facts }));
  if (made.kind !== "created") throw new Error(made.kind);
  const ref = { id: made.task.id, owner: "o" };
  return { ref, store, lines, advance, now };
}

it("offers a task again when its queue could not be reached, and goes on with it meanwhile", async () => {
  let offers = 0;
  const { ref, store, lines, now } = await setUp({
    offer: async () => {
      offers += 1;
      if (offers === 1) throw new Error("The network is down.");
    },
    withdraw: async () => {},
  });
  await expect.poll(() => lines).toContain("A queue could not be reached.");
  expect(await store.read(ref)).toMatchObject({ offeredAt: null, stage: { phase: "submitted" } });
  const begun = now();
  await expect.poll(async () => (await store.read(ref))?.offeredAt, { timeout: 10_000 }).not.toBeNull();
  expect(now() - begun).toBeGreaterThan(1_000);
  expect(offers).toBe(2);
});

it("says after a quarter of an hour that the task still waits, and nobody sees it", async () => {
  const offered: unknown[] = [];
  const { ref, store, advance } = await setUp({
    offer: async (task) => void offered.push(task),
    withdraw: async () => {},
  });
  await expect.poll(async () => (await store.read(ref))?.offeredAt).not.toBeNull();
  const before = await store.read(ref);
  advance(20 * 60_000);
  await store.sweep(10);
  await expect.poll(() => offered.length).toBe(2);
  await expect.poll(async () => (await store.read(ref))?.offeredAt).not.toBe(before?.offeredAt);
  expect(await store.read(ref)).toMatchObject({ version: before?.version, updatedAt: before?.updatedAt });
});

it("takes a task that settles out of its queue, also when it was just on its way there", async () => {
  const withdrawn: string[] = [];
  let arrive: (() => void) | null = null;
  const { ref, store } = await setUp({
    offer: () => new Promise((resolve) => (arrive = resolve)),
    withdraw: async ({ id }) => void withdrawn.push(id),
  });
  await expect.poll(() => arrive).not.toBeNull();
  await store.tell(ref, { kind: "cancel" });
  expect(withdrawn).toEqual([]);
  (arrive as unknown as () => void)();
  await expect.poll(() => withdrawn).toEqual([ref.id]);
});

it("leaves a queue alone that knows nothing of a task that settles", async () => {
  const withdrawn: string[] = [];
  const { ref, store, now } = await setUp({
    offer: async () => {},
    withdraw: async ({ id }) => void withdrawn.push(id),
  });
  const lease = { id: "l", until: now() + 30_000, worker: "w" };
  await store.work(ref.id, { kind: "claim", lease });
  await store.work(ref.id, { kind: "complete", lease: "l", result: '{"content":[]}' });
  expect((await store.read(ref))?.stage.phase).toBe("settled");
  expect(withdrawn).toEqual([]);
});
