// The tasks of a store that only keeps, D1 here: run under a lease in an object of their own.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { runnerDrive } from "../../durable-objects/runner-drive";
import { ownerOf } from "../../src/service/principal";
import { TaskService } from "../../src/service/task-service";
import type { PassiveTaskStore } from "../../src/service/task-store";
import type { WorkAct } from "../../src/service/work";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { emptyD1, objects } from "../stores/d1";
import { NOTHING, storedIn } from "../stores/objects";
import { setStage } from "../stores/stage";
import { everything, limits, movableClock, someone, textOf } from "../support/memory";

const owner = someone("runner");

/** What the tool of this file does, and how often it began; each test sets it. */
let run: (task: TaskContext) => Promise<string>;
let runs: number;
const tool = defineTool({
  name: "tool",
  description: "Does what the test says.",
  input: { type: "object" },
  task: "optional",
  timeoutMs: 5_000,
  run: (_, task) => {
    runs += 1;
    return run(task);
  },
});

beforeEach(() => {
  run = async () => "done";
  runs = 0;
});

async function setUp(over: Partial<typeof limits> = {}) {
  const clock = movableClock();
  const registry = createRegistry([tool]);
  const ruled = { ...limits, ...over };
  const parts = { registry, limits: ruled, clock: clock.now };
  const { store, drive } = await emptyD1(parts);
  const tasks = new TaskService({ store, drive, limits: ruled, clock: clock.now });
  /** The same deployment with a store that sometimes fails, or whose wakes are lost. */
  const through = (other: PassiveTaskStore) => setStage({ ...parts, store: other });
  const begin = async (service: TaskService = tasks) => {
    const known = registry.get("tool")!;
    return (await service.start({ principal: owner, tool: known, arguments: {}, client: everything, origin: "test" }))
      .task;
  };
  const get = (id: string) => tasks.get(owner, id);
  const settled = (id: string) =>
    vi.waitUntil(async () => ((await get(id)).stage.phase === "settled" ? get(id) : false), { timeout: 20_000 });
  return { clock, store, drive, tasks, registry, ruled, through, begin, get, settled };
}

const runner = (id: string) => objects.RUNNERS.getByName(id);
const alarmOf = (id: string) => runInDurableObject(runner(id), (_, { storage }) => storage.getAlarm());

/** The process dies: memory is gone, what was stored stays. */
const crash = (id: string) => runInDurableObject(runner(id), (_, state) => state.abort("crash")).catch(() => {});

/** It dies, and its alarm with it: nobody comes back by itself. */
async function vanish(id: string): Promise<void> {
  await runInDurableObject(runner(id), (_, { storage }) => storage.deleteAll());
  await crash(id);
}

function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

/** Does a step, then waits in its first run for ever; a second run goes on. */
function stuckAfter(step: () => number) {
  const stuck = gate();
  run = async (task) => {
    const mine = runs;
    await task.step("step", step);
    if (mine === 1) await stuck.opened;
    return `run ${mine}`;
  };
  return stuck;
}

describe("a task of a store of one's own", () => {
  it("runs with nobody attached, and leaves nothing in its runner", async () => {
    const { begin, settled } = await setUp();
    const { id } = await begin();
    expect(textOf(await settled(id))).toBe("done");
    await expect.poll(() => storedIn(runner(id))).toEqual(NOTHING);
  });

  it("is begun by the cron when the wake was lost", async () => {
    const { begin, settled, store, ruled, clock, drive } = await setUp();
    const { id } = await begin(new TaskService({ store, limits: ruled, clock: clock.now }));
    expect(await drive.redrive(100)).toEqual({ due: 1, driven: 1, failures: 0, finished: true });
    expect(textOf(await settled(id))).toBe("done");
    expect(await drive.redrive(100)).toMatchObject({ due: 0 });
  });

  it("goes on after its runner died: a stored step is not done again, and the restart is counted apart", async () => {
    const { begin, settled } = await setUp();
    const step = vi.fn(() => 1);
    const stuck = stuckAfter(step);
    const { id } = await begin();
    await vi.waitUntil(async () => step.mock.calls.length === 1 && (await alarmOf(id)) !== null);
    await crash(id);
    // Its alarm is on disk, and fires long before the lease would lapse.
    expect(await runDurableObjectAlarm(runner(id))).toBe(true);
    const done = await settled(id);
    expect(textOf(done)).toBe("run 2");
    expect(step).toHaveBeenCalledTimes(1);
    expect([done.restarts, done.attempts]).toEqual([1, 0]);
    stuck.open();
  });

  it("is taken up by the cron when its runner never comes back, once the lease has lapsed", async () => {
    const { begin, settled, get, drive, clock } = await setUp();
    const step = vi.fn(() => 1);
    const stuck = stuckAfter(step);
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).version).toBe(3);
    await vanish(id);
    expect(await drive.redrive(100)).toMatchObject({ due: 0 });
    clock.advance(31_000);
    expect(await drive.redrive(100)).toMatchObject({ due: 1, driven: 1 });
    const done = await settled(id);
    expect(textOf(done)).toBe("run 2");
    expect(step).toHaveBeenCalledTimes(1);
    expect(done.restarts).toBe(1);
    stuck.open();
  });

  it("changes nothing any more once another runner has taken it", async () => {
    const { begin, settled, get, store, clock } = await setUp();
    const stuck = gate();
    let late: unknown;
    run = async (task) => {
      await stuck.opened;
      late = await task.step("late", () => "written").catch((error: unknown) => error);
      return "too late";
    };
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).lease).not.toBeNull();
    clock.advance(31_000);
    const lease = { id: "another", worker: "another", until: clock.now() + 60_000 };
    expect(await store.work(id, { kind: "claim", lease })).toMatchObject({ kind: "held" });
    stuck.open();
    await vi.waitUntil(() => late !== undefined);
    expect(late).toMatchObject({ name: "RunAborted" });
    expect((await get(id)).lease).toMatchObject({ id: "another" });
    const result = JSON.stringify({ content: [{ type: "text", text: "by another" }] });
    await store.work(id, { kind: "complete", lease: "another", result });
    expect(textOf(await settled(id))).toBe("by another");
  });

  it("stops its tool when it is cancelled, without waiting for a heartbeat", async () => {
    const { begin, get, tasks } = await setUp();
    const stopped = vi.fn();
    run = (task) =>
      new Promise((_, reject) =>
        task.signal.addEventListener("abort", () => {
          stopped();
          reject(task.signal.reason as Error);
        }),
      );
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).lease).not.toBeNull();
    expect((await tasks.cancel(owner, id)).changed).toBe(true);
    await vi.waitUntil(() => stopped.mock.calls.length === 1, { timeout: 5_000 });
    expect((await get(id)).stage).toMatchObject({ outcome: { kind: "cancelled" } });
    await expect.poll(() => storedIn(runner(id))).toEqual(NOTHING);
  });

  it("asks, holds no lease while it waits, and goes on with the answer", async () => {
    const { begin, get, settled, tasks } = await setUp();
    run = async (task) =>
      JSON.stringify(await task.ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }));
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).stage.phase).toBe("input_required");
    expect((await get(id)).lease).toBeNull();
    await crash(id);
    await tasks.answer(owner, id, { k: '{"action":"accept","content":{"v":"yes"}}' });
    expect(textOf(await settled(id))).toBe('{"k":{"action":"accept","content":{"v":"yes"}}}');
    expect(runs).toBe(2);
  });

  it("sees cancel for a question that nobody answered in time: the cron looks", async () => {
    const { begin, get, settled, drive, clock } = await setUp();
    run = async (task) =>
      JSON.stringify(
        await task.ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }, { timeoutMs: 60_000 }),
      );
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).stage.phase).toBe("input_required");
    clock.advance(61_000);
    expect(await drive.redrive(100)).toMatchObject({ due: 1, driven: 1 });
    expect(textOf(await settled(id))).toBe('{"k":{"action":"cancel"}}');
  });

  it("wakes from a sleep by its runner's alarm, without the cron", async () => {
    const { begin, settled, clock } = await setUp();
    let until: number | null = null;
    run = async (task) => {
      until ??= clock.now() + 200;
      await task.sleep(until);
      return "woke";
    };
    const { id } = await begin();
    expect(textOf(await settled(id))).toBe("woke");
    expect(runs).toBe(2);
  });

  it("has an alarm for the end of a long sleep, and holds no lease", async () => {
    const { begin, get, clock } = await setUp();
    const end = clock.now() + 3_600_000;
    run = async (task) => {
      await task.sleep(end);
      return "woke";
    };
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).stage).toMatchObject({ activity: { kind: "sleeping" } });
    expect((await get(id)).lease).toBeNull();
    await expect.poll(async () => Math.abs(((await alarmOf(id)) ?? 0) - end)).toBeLessThan(5_000);
  });

  it("tries a failing tool again, and gives up with a reason", async () => {
    const { begin, settled } = await setUp({ maxAttempts: 2 });
    run = () => Promise.reject(new Error("secret"));
    const done = await settled((await begin()).id);
    expect(runs).toBe(2);
    expect(done.statusMessage).toBe('Attempt 2 of 2: The tool "tool" failed.');
    expect(JSON.stringify(done)).not.toContain("secret");
  });

  it("stops a run that takes too long, although it ignores its signal", async () => {
    const { begin, settled } = await setUp({ maxAttempts: 1 });
    run = () => new Promise(() => {});
    expect((await settled((await begin()).id)).statusMessage).toMatch(/longer than it may/);
  });

  it("keeps its lease while a run goes on, and is not given up meanwhile", async () => {
    const { begin, get, settled, clock, drive } = await setUp();
    const stuck = gate();
    run = async () => {
      await stuck.opened;
      return "done";
    };
    const { id } = await begin();
    await expect.poll(async () => (await get(id)).lease).not.toBeNull();
    for (let n = 0; n < 4; n += 1) {
      clock.advance(20_000);
      expect(await runDurableObjectAlarm(runner(id))).toBe(true);
    }
    expect(await drive.redrive(100)).toMatchObject({ due: 0 });
    stuck.open();
    expect(textOf(await settled(id))).toBe("done");
    expect(runs).toBe(1);
  });

  it("rides out a store that fails for a moment", async () => {
    const { begin, settled, store, through } = await setUp();
    let failures = 0;
    through(
      withWork(store, (act) => {
        if (act.kind === "emit" && failures < 2) {
          failures += 1;
          throw new Error("D1 is busy.");
        }
      }),
    );
    const step = vi.fn(() => 1);
    run = async (task) => `step ${await task.step("step", step)}`;
    expect(textOf(await settled((await begin()).id))).toBe("step 1");
    expect([failures, runs, step.mock.calls.length]).toEqual([2, 1, 1]);
  });

  it("reports in order, and the newest progress is never lost", async () => {
    const { begin, settled, store } = await setUp();
    run = async (task) => {
      for (let n = 1; n <= 200; n += 1) task.progress({ progress: n, total: 200 });
      await task.step("a", () => 1);
      task.progress({ progress: 201 });
      return "done";
    };
    const done = await settled((await begin()).id);
    expect(done.progress).toEqual({ progress: 201 });
    const events: string[] = [];
    const ref = { id: done.id, owner: ownerOf(owner) };
    for await (const message of (await store.watch(ref, { after: 0, signal: AbortSignal.timeout(20_000) })) ?? []) {
      if (message.kind === "event") events.push(message.entry.event);
    }
    expect(events).toEqual(["created", "started", "stepped", "progressed", "settled"]);
  });
});

/** The store, with something before each `work`. */
const withWork = (store: PassiveTaskStore, before: (act: WorkAct) => void): PassiveTaskStore =>
  new Proxy(store, {
    get: (_, name) => {
      if (name === "work") {
        return async (id: string, act: WorkAct) => {
          before(act);
          return store.work(id, act);
        };
      }
      const member: unknown = Reflect.get(store, name);
      return typeof member === "function" ? (member.bind(store) as unknown) : member;
    },
  });

it("is woken through the binding by the id of its task", async () => {
  const woken: string[] = [];
  const bindings = {
    ...objects,
    RUNNERS: { getByName: (name: string) => ({ wake: async (id: string) => void woken.push(name, id) }) },
  };
  const drive = runnerDrive(bindings as never, { due: async () => [], work: async () => null }, Date.now, () => {});
  await drive.wake({
    id: "i",
    owner: null,
    tool: "t",
    runs: { in: "object" },
    startedAt: null,
    offeredAt: null,
    lease: null,
    stage: { phase: "submitted" },
  });
  expect(woken).toEqual(["i", "i"]);
});
