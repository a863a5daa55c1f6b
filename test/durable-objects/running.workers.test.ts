import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { ownerIndexName } from "../../durable-objects/names";
import type { StorageBindings } from "../../durable-objects/rpc";
import { ownerOf, type Principal } from "../../src/service/principal";
import { TaskService } from "../../src/service/task-service";
import { decodeTaskId } from "../../src/task-id";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { setStage } from "../stores/stage";
import { everything, limits, movableClock, someone, textOf } from "../support/memory";

const objects = env as unknown as StorageBindings;
const owner = someone("runner");
const WEEK_MS = 7 * 86_400_000;

/** What the tools of this file do; each test sets it. */
let run: (task: TaskContext) => Promise<string> = async () => "done";
const tool = defineTool({
  name: "tool",
  description: "Does what the test says.",
  input: { type: "object" },
  task: "optional",
  run: (_, task) => run(task),
});

function setUp(over: Partial<typeof limits> = {}) {
  const clock = movableClock();
  const registry = createRegistry([tool]);
  const ruled = { ...limits, ...over };
  setStage({ registry, limits: ruled, clock: clock.now });
  const store = durableTaskStore({ objects, limits: ruled, clock: clock.now });
  const tasks = new TaskService({ store, limits: ruled, clock: clock.now });
  const start = async () =>
    (
      await tasks.start({
        principal: owner,
        tool: registry.get("tool")!,
        arguments: {},
        client: everything,
        origin: "test",
      })
    ).task;
  const get = (id: string) => tasks.get(owner, id);
  const settled = (id: string) =>
    vi.waitUntil(async () => ((await get(id)).stage.phase === "settled" ? get(id) : false), { timeout: 10_000 });
  return { clock, store, tasks, registry, start, get, settled };
}

const stub = (id: string) => objects.TASKS.get(objects.TASKS.idFromString(decodeTaskId(id)!));
const alarmOf = (id: string) => runInDurableObject(stub(id), (_, { storage }) => storage.getAlarm());

/** The process dies: memory is gone, what was committed stays. */
async function crash(id: string): Promise<void> {
  await runInDurableObject(stub(id), (_, state) => state.abort("crash")).catch(() => {});
}

/** A door a run waits at until the test opens it. */
function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

beforeEach(() => void (run = async () => "done"));

describe("a task in its object", () => {
  it("runs with nobody attached", async () => {
    const { start, settled } = setUp();
    expect(textOf(await settled((await start()).id))).toBe("done");
  });

  it("takes up where it stopped after a crash: stored steps are not done again, and the restart is counted apart", async () => {
    const { start, get, settled } = setUp();
    const first = vi.fn(() => 1);
    const stuck = gate();
    let runs = 0;
    run = async (task) => {
      runs += 1;
      await task.step("first", first);
      if (runs === 1) await stuck.opened;
      return `run ${runs}`;
    };
    const { id } = await start();
    await vi.waitUntil(() => first.mock.calls.length === 1);
    await crash(id);
    // Looking at it is enough: an object that wakes to a dead lease re-arms at once.
    await vi.waitUntil(async () => (await get(id).catch(() => null)) !== null);
    const done = await settled(id);
    expect(textOf(done)).toBe("run 2");
    expect(first).toHaveBeenCalledTimes(1);
    expect([done.restarts, done.attempts]).toEqual([1, 0]);
    stuck.open();
  });

  it("is found by its watchdog after a crash although nobody looks", async () => {
    const { start, settled } = setUp();
    const stuck = gate();
    let runs = 0;
    run = async () => {
      runs += 1;
      if (runs === 1) await stuck.opened;
      return `run ${runs}`;
    };
    const { id } = await start();
    await vi.waitUntil(() => runs === 1);
    await crash(id);
    expect(await runDurableObjectAlarm(stub(id))).toBe(true);
    expect(textOf(await settled(id))).toBe("run 2");
    stuck.open();
  });

  it("gives up after too many restarts, with the reason", async () => {
    const { start, get, settled } = setUp({ maxRestarts: 2 });
    const stuck = gate();
    let runs = 0;
    run = async () => {
      runs += 1;
      await stuck.opened;
      return "never";
    };
    const { id } = await start();
    for (const n of [1, 2, 3]) {
      await vi.waitUntil(() => runs === n);
      await crash(id);
      await vi.waitUntil(async () => (await get(id).catch(() => null)) !== null);
    }
    const failed = await settled(id);
    expect(failed.stage).toMatchObject({ outcome: { kind: "error" } });
    expect(failed.statusMessage).toMatch(/interrupted it 3 times/);
    stuck.open();
  });

  it("keeps a question and its answer over evictions", async () => {
    const { start, get, settled, tasks } = setUp();
    run = async (task) =>
      JSON.stringify(await task.ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }));
    const { id } = await start();
    await vi.waitUntil(async () => (await get(id)).stage.phase === "input_required");
    const before = await get(id);
    await evictDurableObject(stub(id));
    expect(await get(id)).toEqual(before);
    await tasks.answer(owner, id, { k: '{"action":"accept","content":{"v":"yes"}}' });
    await evictDurableObject(stub(id));
    await runDurableObjectAlarm(stub(id));
    expect(textOf(await settled(id))).toBe('{"k":{"action":"accept","content":{"v":"yes"}}}');
  });

  it("fires an alarm that is due inside a long run before the run ends", async () => {
    const { start, get, settled } = setUp();
    const stuck = gate();
    run = async (task) => {
      task.progress({ message: "in the middle" });
      await stuck.opened;
      return "done";
    };
    const { id } = await start();
    await vi.waitUntil(async () => (await get(id)).progress?.message === "in the middle");
    expect(await runDurableObjectAlarm(stub(id))).toBe(true);
    expect((await get(id)).stage).toEqual({ phase: "working", activity: { kind: "running" } });
    expect(await alarmOf(id)).not.toBeNull();
    stuck.open();
    const done = await settled(id);
    expect([textOf(done), done.restarts]).toEqual(["done", 0]);
  });

  it("expires in the middle of a run: the run is aborted, the task reads as not found, its watchers are told", async () => {
    const { start, get, clock, tasks, store } = setUp({ ttlMs: 60_000 });
    const aborted = vi.fn();
    run = (task) => new Promise(() => task.signal.addEventListener("abort", aborted));
    const { id } = await start();
    await vi.waitUntil(async () => (await get(id)).stage.phase === "working");
    const waiting = tasks
      .settle(owner, id, { signal: AbortSignal.timeout(10_000) })
      .catch((error: Error) => error.message);
    clock.advance(60_001);
    await expect(get(id)).rejects.toMatchObject({ code: "not_found" });
    await runDurableObjectAlarm(stub(id));
    expect(aborted).toHaveBeenCalledOnce();
    expect(await waiting).toMatch(/No such task/);
    expect(await store.sweep(100)).toMatchObject({ removed: 1 });
    expect(await alarmOf(id)).toBeNull();
  });

  it("parks for a week over evictions with no alarm run and no row written, and answers afterwards", async () => {
    const { start, get, settled, clock, store } = setUp();
    let runs = 0;
    run = async (task) => {
      runs += 1;
      await task.sleep(clock.now() + WEEK_MS);
      return "woke";
    };
    const { id } = await start();
    await vi.waitUntil(async () => JSON.stringify((await get(id)).stage).includes("sleeping"));
    const bytes = () => runInDurableObject(stub(id), (_, { storage }) => contents(storage));
    const [rows, alarm, parked] = [await bytes(), await alarmOf(id), await get(id)];
    for (let day = 1; day < 7; day += 1) {
      await evictDurableObject(stub(id));
      clock.advance(86_400_000);
      expect(await store.sweep(100)).toMatchObject({ poked: 0 });
      expect(await get(id)).toEqual(parked);
    }
    expect([await bytes(), await alarmOf(id), runs]).toEqual([rows, alarm, 1]);
    clock.advance(86_400_000 + 120_000);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    expect(textOf(await settled(id))).toBe("woke");
    expect(runs).toBe(2);
  });

  it("carries no alarm once it is settled and its index knows", async () => {
    const { start, settled } = setUp();
    const { id } = await start();
    await settled(id);
    await vi.waitUntil(async () => (await alarmOf(id)) === null);
  });

  it("settles with the reason when a deploy removed or changed its tool between question and answer", async () => {
    const { start, get, settled, tasks, clock } = setUp();
    run = async (task) =>
      JSON.stringify(await task.ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }));
    const { id } = await start();
    await vi.waitUntil(async () => (await get(id)).stage.phase === "input_required");
    await evictDurableObject(stub(id));
    setStage({ registry: createRegistry([]), limits, clock: clock.now });
    await tasks.answer(owner, id, { k: '{"action":"decline"}' });
    expect((await settled(id)).statusMessage).toBe('The tool "tool" is no longer served here.');
  });
});

describe("whoever follows a task", () => {
  it.each([
    ["its owner, over the feed of the index", owner],
    ["an anonymous caller, over the task's own feed", { kind: "anonymous" } as const],
  ])("goes on after a redeploy took both objects away: %s", async (_, principal) => {
    const { clock, tasks, registry } = setUp();
    run = async (task) =>
      JSON.stringify(await task.ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }));
    const tool = registry.get("tool")!;
    const { task } = await tasks.start({ principal, tool, arguments: {}, client: everything, origin: "test" });
    await vi.waitUntil(async () => (await tasks.get(principal, task.id)).stage.phase === "input_required");
    const seen: string[] = [];
    const versions: number[] = [];
    const followed = (async () => {
      for await (const message of tasks.follow(principal, [task.id], AbortSignal.timeout(20_000))) {
        seen.push(message.task.stage.phase);
        versions.push(message.task.version);
      }
    })();
    await vi.waitUntil(() => seen.length === 1);
    await resetIndex(principal, task.id);
    await crash(task.id);
    clock.advance(1);
    await vi.waitUntil(async () =>
      tasks.answer(principal, task.id, { k: '{"action":"decline"}' }).then(
        () => true,
        () => false,
      ),
    );
    await followed;
    expect(seen.at(0)).toBe("input_required");
    expect(seen.at(-1)).toBe("settled");
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(versions.length);
  });
});

async function resetIndex(principal: Principal, id: string): Promise<void> {
  const index = objects.OWNERS.getByName(ownerIndexName("tasks", ownerOf(principal), id));
  await runInDurableObject(index, (_, state) => state.abort("redeploy")).catch(() => {});
}

/** Every row of every table of ours, blobs by content. */
const contents = (storage: DurableObjectStorage): unknown =>
  storage.sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
    )
    .toArray()
    .map(({ name }) => [name, storage.sql.exec(`SELECT * FROM "${name}"`).toArray().map(fingerprint)]);

const fingerprint = (row: Record<string, unknown>): unknown =>
  Object.entries(row).map(([name, value]) => [
    name,
    value instanceof ArrayBuffer ? new Uint8Array(value).join() : value,
  ]);
