import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../../src/service/memory-task-store";
import type { WorkflowCalls } from "../../src/service/workflow-calls";
import { registry } from "../stores/tools";
import { limits, movableClock } from "../support/memory";
import { noQueues } from "../support/no-queues";
import { draft } from "../support/task";

async function setUp(workflows?: Partial<WorkflowCalls>) {
  const { now, advance } = movableClock();
  const lines: string[] = [];
  const calls: string[] = [];
  const wake = async (): Promise<null> => {
    calls.push("wake");
    return null;
  };
  const end = async (): Promise<void> => void calls.push("end");
  const store = new MemoryTaskStore({
    queues: noQueues,
    ...(workflows ? { workflows: { wake, end, ...workflows } } : {}),
    registry,
    limits,
    clock: now,
    fetch: () => Promise.reject(new Error("These tools fetch nothing.")),
    log: (_, message) => void lines.push(message),
  });
  const facts = { namespace: "n", owner: "o", createdAt: now(), ttlMs: null, runs: { in: "workflow" } } as const;
  const made = await store.create(draft({ id: store.mint(), ...facts }));
  if (made.kind !== "created") throw new Error(made.kind);
  const ref = { id: made.task.id, owner: "o" };
  const lease = { id: "l", until: now() + 30_000, worker: "workflow" };
  const claim = () => store.work(ref.id, { kind: "claim", lease });
  const handed = () => expect.poll(async () => (await store.read(ref))?.offeredAt).not.toBeNull();
  return { store, ref, calls, lines, advance, now, claim, handed };
}

describe("a task that runs in a Workflow", () => {
  it("fails with a sentence that names the binding where there is none", async () => {
    const { store, ref } = await setUp();
    await expect.poll(async () => (await store.read(ref))?.stage.phase).toBe("settled");
    expect((await store.read(ref))?.statusMessage).toMatch(/must bind TASK_WORKFLOW/);
  });

  it("is handed over again when the engine could not be reached", async () => {
    let calls = 0;
    const wake = async () => {
      calls += 1;
      if (calls === 1) throw new Error("The network is down.");
      return null;
    };
    const { store, ref, lines } = await setUp({ wake });
    await expect.poll(() => lines).toContain("The engine of Workflows could not be reached.");
    expect((await store.read(ref))?.stage.phase).toBe("submitted");
    await expect.poll(async () => (await store.read(ref))?.offeredAt, { timeout: 10_000 }).not.toBeNull();
    expect(calls).toBe(2);
  });

  it("settles with the reason when its Workflow is over", async () => {
    const { store, ref } = await setUp({ wake: async () => "The Workflow was terminated." });
    await expect.poll(async () => (await store.read(ref))?.stage.phase).toBe("settled");
    const error = { code: -32603, message: "The Workflow was terminated." };
    expect((await store.read(ref))?.stage).toMatchObject({ outcome: { kind: "error", error } });
  });

  it("is asked after when its run has been silent, and has its lease for as long again", async () => {
    const { store, ref, calls, handed, claim, advance, now } = await setUp({});
    await handed();
    await claim();
    advance(31_000);
    await store.sweep(10);
    await expect.poll(() => calls).toEqual(["wake"]);
    advance(60_000);
    await store.sweep(10);
    await expect.poll(() => calls).toEqual(["wake", "wake"]);
    await expect.poll(async () => (await store.read(ref))?.lease?.until).toBeGreaterThan(now());
    expect(await store.read(ref)).toMatchObject({ restarts: 0, lease: { id: "l" } });
  });

  it("has its Workflow ended when it is cancelled, also when that was just being made", async () => {
    let arrive = (): void => {};
    const { store, ref, calls } = await setUp({
      wake: () => new Promise((resolve) => (arrive = () => resolve(null))),
    });
    await expect.poll(() => String(arrive)).toContain("resolve");
    await store.tell(ref, { kind: "cancel" });
    expect(calls).toEqual([]);
    arrive();
    await expect.poll(() => calls).toEqual(["end"]);
  });

  it("has its Workflow ended once, whatever becomes of who is told of the task", async () => {
    const { store, ref, calls, handed } = await setUp({});
    await handed();
    await store.tell(ref, { kind: "cancel" });
    await expect.poll(() => calls).toEqual(["wake", "end"]);
    const target = { id: "p", url: "https://a.example/", token: null, authentication: null, wire: "a2a/1.0" };
    expect(await store.tell(ref, { kind: "push", target })).toMatchObject({ changed: true });
    expect(await store.tell(ref, { kind: "unpush", id: "p" })).toMatchObject({ changed: true });
    expect(calls).toEqual(["wake", "end"]);
  });

  it("is handed over again where it was due anew before the first time was answered", async () => {
    const arrivals: (() => void)[] = [];
    const { store, ref, claim, now } = await setUp({
      wake: () => new Promise((resolve) => arrivals.push(() => resolve(null))),
    });
    await expect.poll(() => arrivals.length).toBe(1);
    await claim();
    const request = { method: "elicitation/create", params: { message: "K?" } } as const;
    const questions = [{ authorKey: "k", occurrence: 1, request, deadline: now() + 60_000 }];
    const event = { type: "asked", at: now(), questions, sleeps: [], ttlMs: null } as const;
    await store.work(ref.id, { kind: "emit", lease: "l", event });
    await store.tell(ref, { kind: "answer", answers: { k: '{"action":"decline"}' } });
    expect((await store.read(ref))?.stage).toMatchObject({ activity: { kind: "due" } });
    arrivals[0]?.();
    await expect.poll(() => arrivals.length).toBe(2);
    arrivals[1]?.();
    await expect.poll(async () => (await store.read(ref))?.offeredAt).not.toBeNull();
  });

  it("leaves alone a Workflow that has settled its task itself", async () => {
    const { store, ref, calls, handed, claim } = await setUp({});
    await handed();
    await claim();
    await store.work(ref.id, { kind: "complete", lease: "l", result: '{"content":[]}' });
    expect((await store.read(ref))?.stage.phase).toBe("settled");
    expect(calls).toEqual(["wake"]);
  });
});
