import { afterEach, describe, expect, it, vi } from "vitest";
import { Drive } from "../../src/service/drive";
import type { QueueCalls } from "../../src/service/queue-offer";
import type { WorkflowCalls } from "../../src/service/workflow-calls";
import type { RunsIn } from "../../src/task/task";
import { movableClock } from "../support/memory";
import { passive } from "../support/passive";

const HERE: RunsIn = { in: "object" };
const IN_WORKFLOW: RunsIn = { in: "workflow" };
const QUEUED: RunsIn = { in: "queue", queue: "gpu", maxAttempts: null, output: null };

type Over = Partial<QueueCalls> & {
  readonly wake?: (id: string) => Promise<void>;
  readonly workflows?: Partial<WorkflowCalls>;
};

function setUp(over: Over = {}) {
  const clock = movableClock();
  const { store, add, get } = passive(clock.now);
  const done: string[] = [];
  const lines: string[] = [];
  const drive = new Drive({
    store,
    clock: clock.now,
    wake: over.wake ?? (async (id) => void done.push(`wake ${id}`)),
    queues: {
      offer: async ({ id }) => void done.push(`offer ${id}`),
      withdraw: async ({ id }) => void done.push(`withdraw ${id}`),
      ...over,
    },
    workflows: {
      wake: async ({ id }) => {
        done.push(`workflow ${id}`);
        return null;
      },
      end: async ({ id }) => void done.push(`end ${id}`),
      ...over.workflows,
    },
    log: (_, message, data) => void lines.push(`${message} ${JSON.stringify(data)}`),
  });
  return { clock, store, add, get, done, lines, drive };
}

afterEach(() => void vi.useRealTimers());

const lease = (id: string, until: number) => ({ id, worker: "w", until });

describe("waking a task", () => {
  it("calls its runner, or tells its queue once", async () => {
    const { add, get, done, drive } = setUp();
    await drive.wake(add({ id: "a", runs: HERE }));
    await drive.wake(add({ id: "b", runs: QUEUED }));
    await drive.wake(get("b"));
    expect(done).toEqual(["wake a", "offer b"]);
    expect(get("b").offeredAt).not.toBeNull();
  });

  it("does nothing for one that may not run now, and lets a run know that its task has ended", async () => {
    const { add, get, done, drive, store, clock } = setUp();
    const task = add({ id: "a", runs: HERE });
    await store.work("a", { kind: "claim", lease: lease("l", clock.now() + 30_000) });
    await drive.wake(get("a"));
    expect(done).toEqual([]);
    const settledAt = clock.now();
    await drive.wake({ ...task, stage: { phase: "settled", outcome: { kind: "cancelled" }, settledAt } });
    expect(done).toEqual(["wake a"]);
  });

  it("takes a settled one out of its queue", async () => {
    const { add, get, done, drive, clock } = setUp();
    await drive.wake(add({ id: "b", runs: QUEUED }));
    const settledAt = clock.now();
    await drive.wake({ ...get("b"), stage: { phase: "settled", outcome: { kind: "cancelled" }, settledAt } });
    expect(done).toEqual(["offer b", "withdraw b"]);
  });

  it("sees to a task's Workflow once, and ends that of a cancelled one", async () => {
    const { add, get, done, drive, clock, store } = setUp();
    await drive.wake(add({ id: "w", runs: IN_WORKFLOW }));
    await drive.wake(get("w"));
    expect(done).toEqual(["workflow w"]);
    await store.work("w", { kind: "claim", lease: lease("l", clock.now() + 30_000) });
    await store.work("w", { kind: "emit", lease: "l", event: { type: "cancelled", at: clock.now(), minTtlMs: 0 } });
    await drive.wake(get("w"));
    expect(done).toEqual(["workflow w", "end w"]);
  });

  it("settles a task whose Workflow is over, with the reason", async () => {
    const { add, get, drive } = setUp({ workflows: { wake: async () => "It was ended." } });
    await drive.wake(add({ id: "w", runs: IN_WORKFLOW }));
    expect(get("w")).toMatchObject({ statusMessage: "It was ended.", stage: { outcome: { kind: "error" } } });
  });

  it("keeps nobody waiting for an engine that does not answer, and looks after the other tasks", async () => {
    vi.useFakeTimers();
    const { add, get, done, lines, drive } = setUp({ workflows: { wake: () => new Promise(() => {}) } });
    const waking = drive.wake(add({ id: "w", runs: IN_WORKFLOW }));
    await vi.advanceTimersByTimeAsync(10_000);
    await waking;
    expect(lines).toHaveLength(1);
    for (let n = 0; n < 7; n += 1) add({ id: `${n}`, runs: HERE });
    const redriven = drive.redrive(100);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await redriven).toMatchObject({ due: 8, driven: 7, failures: 1 });
    expect(done).toHaveLength(7);
    expect(get("w").offeredAt).toBeNull();
  });

  it("leaves what fails to the cron, and says so in the log", async () => {
    const { add, get, lines, drive } = setUp({ offer: () => Promise.reject(new Error("no queue")) });
    await drive.wake(add({ id: "b", runs: QUEUED }));
    expect(lines).toEqual(['A task could not be set going; the cron tries again. {"task":"b","error":"no queue"}']);
    expect(get("b").offeredAt).toBeNull();
  });
});

describe("the cron", () => {
  it("sets going whatever is due: never begun, woken from a sleep, left by a dead runner", async () => {
    const { add, get, done, drive, store, clock } = setUp();
    for (const id of ["new", "dead", "asleep", "held"]) add({ id, runs: HERE });
    await store.work("dead", { kind: "claim", lease: lease("d", clock.now() + 30_000) });
    await store.work("held", { kind: "claim", lease: lease("h", clock.now() + 3_600_000) });
    await store.work("asleep", { kind: "claim", lease: lease("s", clock.now() + 30_000) });
    const at = clock.now();
    const slept = { type: "slept", at, sleeps: [{ ordinal: 0, until: at + 60_000 }], ttlMs: null } as const;
    await store.work("asleep", { kind: "emit", lease: "s", event: slept });
    clock.advance(61_000);
    expect(await drive.redrive(100)).toEqual({ due: 3, driven: 3, failures: 0, finished: true });
    expect(done.sort()).toEqual(["wake asleep", "wake dead", "wake new"]);
    expect(get("dead").restarts).toBe(1);
  });

  it("asks after a Workflow that is silent, which keeps its lease while it goes on", async () => {
    const { add, get, done, drive, store, clock } = setUp();
    add({ id: "w", runs: IN_WORKFLOW });
    await store.work("w", { kind: "claim", lease: lease("l", clock.now() + 30_000) });
    clock.advance(31_000);
    expect(await drive.redrive(100)).toMatchObject({ due: 1, driven: 1 });
    expect(done).toEqual(["workflow w"]);
    expect(get("w").lease?.until).toBeGreaterThan(clock.now());
    expect(await drive.redrive(100)).toMatchObject({ due: 0 });
  });

  it("offers a queued task again whose worker fell silent, once it has backed off", async () => {
    const { add, get, done, drive, store, clock } = setUp();
    add({ id: "b", runs: QUEUED });
    await store.work("b", { kind: "claim", lease: lease("w", clock.now() + 30_000) });
    clock.advance(31_000);
    expect(await drive.redrive(100)).toMatchObject({ due: 1, driven: 0 });
    expect(get("b")).toMatchObject({ attempts: 1, lease: null });
    clock.advance(60_000);
    expect(await drive.redrive(100)).toMatchObject({ due: 1, driven: 1 });
    expect(done).toEqual(["offer b"]);
  });

  it("stays within its budget, and goes on past what fails", async () => {
    const woken: string[] = [];
    const { add, drive, lines } = setUp({
      wake: async (id) => {
        if (id === "t3") throw new Error("overloaded");
        woken.push(id);
      },
    });
    for (let n = 0; n < 20; n += 1) add({ id: `t${n}`, runs: HERE });
    expect(await drive.redrive(31)).toEqual({ due: 10, driven: 9, failures: 1, finished: false });
    expect(woken).toHaveLength(9);
    expect(lines).toHaveLength(1);
  });
});
