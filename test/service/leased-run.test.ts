import { afterEach, describe, expect, it, vi } from "vitest";
import { cutOff, LeasedRun, type LeasedRunParts } from "../../src/service/leased-run";
import { lean, type WorkAct } from "../../src/service/work";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { limits, movableClock } from "../support/memory";
import { passive } from "../support/passive";

afterEach(() => void vi.useRealTimers());

function setUp(run: (task: TaskContext) => Promise<string>, over: Partial<LeasedRunParts> = {}) {
  const clock = movableClock();
  const { store, add, get } = passive(clock.now);
  const { id } = add({ tool: "tool" });
  const tool = defineTool({
    name: "tool",
    description: "tool",
    input: { type: "object" },
    task: "optional",
    run: (_, task) => run(task),
  });
  const log = vi.fn();
  const work = (act: WorkAct) => store.work(id, act);
  const leased = new LeasedRun({
    work,
    lease: { id: "l", worker: "w", ms: 30_000 },
    registry: createRegistry([tool]),
    limits,
    clock: clock.now,
    random: () => 0.5,
    fetch: () => Promise.reject(new Error("This test fetches nothing.")),
    log,
    asking: async () => {},
    ...over,
  });
  return { clock, id, work, leased, log, task: () => get(id) };
}

describe("a run under a lease", () => {
  it("is claimed, stored event by event, and settles its task", async () => {
    const { leased, task } = setUp(async ({ step }) => `step ${await step("a", () => 1)}`);
    expect(await leased.claim()).toBe(true);
    await leased.perform();
    expect(task()).toMatchObject({ stage: { phase: "settled", outcome: { kind: "result" } }, version: 4 });
    expect(leased.task()).toBe(task());
  });

  it("cannot be had while another has the task", async () => {
    const { leased, work, clock } = setUp(async () => "done");
    await work({ kind: "claim", lease: { id: "other", worker: "o", until: clock.now() + 30_000 } });
    expect(await leased.claim()).toBe(false);
    expect(leased.task()?.lease?.id).toBe("other");
  });

  it("goes no further than what could be stored", async () => {
    vi.useFakeTimers();
    const after = vi.fn();
    let works = true;
    const { store, add, get } = passive(Date.now);
    const { id } = add({ tool: "tool" });
    const { leased, log } = setUp(
      async ({ step }) => {
        await step("charge", () => "charged");
        after();
        return "done";
      },
      {
        clock: Date.now,
        work: (act) => (works ? store.work(id, act) : Promise.reject(new Error("unreachable"))),
      },
    );
    await leased.claim();
    works = false;
    const performed = leased.perform();
    await vi.advanceTimersByTimeAsync(10_000);
    await performed;
    expect(after).not.toHaveBeenCalled();
    expect(get(id)).toMatchObject({ attempts: 0, stage: { activity: { kind: "running" } } });
    expect(log).toHaveBeenCalledWith("error", "A run could not reach its task.", expect.anything());
  });

  it("knows its steps after a heartbeat and after progress, whose answers are without them", async () => {
    const step = vi.fn(() => 1);
    const clock = movableClock();
    const { store, add } = passive(clock.now);
    const { id } = add({ tool: "tool" });
    const { leased } = setUp(
      async (task) => {
        await task.step("a", step);
        await leased.heartbeat();
        await task.step("a", step);
        task.progress({ progress: 1 });
        await task.step("b", step);
        await task.step("a", step);
        return "done";
      },
      {
        clock: clock.now,
        work: async (act) => {
          const worked = await store.work(id, act);
          return worked && lean(act, worked);
        },
      },
    );
    await leased.claim();
    await leased.perform();
    expect(step).toHaveBeenCalledTimes(2);
  });

  it("stops when a heartbeat says that the task was cancelled", async () => {
    const stopped = vi.fn();
    const { leased, work, clock, task } = setUp(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            stopped();
            reject(signal.reason as Error);
          }),
        ),
    );
    await leased.claim();
    const performed = leased.perform();
    await work({ kind: "emit", lease: "l", event: { type: "cancelled", at: clock.now(), minTtlMs: 0 } });
    await leased.heartbeat();
    await performed;
    expect(stopped).toHaveBeenCalledOnce();
    expect(task().stage).toMatchObject({ outcome: { kind: "cancelled" } });
  });

  it("tells the session of an anonymous caller that something is asked", async () => {
    const asking = vi.fn(async () => {});
    const clock = movableClock();
    const { store, add } = passive(clock.now);
    const client = { revision: "test", capabilities: { elicitation: {} }, principal: null };
    const { id } = add({ tool: "tool", client: { ...client, session: { key: "s", expiresAt: clock.now() + 60_000 } } });
    const { leased } = setUp(
      async ({ ask }) => JSON.stringify(await ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } })),
      { clock: clock.now, work: (act) => store.work(id, act), asking },
    );
    await leased.claim();
    await leased.perform();
    expect(asking).toHaveBeenCalledWith({ key: "s", expiresAt: expect.any(Number) }, id);
  });

  it("is known to have died by whoever remembers its lease", async () => {
    const { leased, work, clock, task } = setUp(async () => "done");
    await leased.claim();
    await cutOff("some other lease", work, limits, clock.now);
    expect(task().restarts).toBe(0);
    await cutOff("l", work, limits, clock.now);
    expect(task()).toMatchObject({ restarts: 1, lease: null, stage: { activity: { kind: "due" } } });
  });
});
