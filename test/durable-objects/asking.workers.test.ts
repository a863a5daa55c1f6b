// What a task waits for, in the durable store: answers, deadlines, and messages that did not get through.
import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { OwnerIndex } from "../../durable-objects/owner-index";
import type { StorageBindings } from "../../durable-objects/rpc";
import { ownerOf } from "../../src/service/principal";
import { TaskService } from "../../src/service/task-service";
import { decodeTaskId } from "../../src/task-id";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { setStage } from "../stores/stage";
import { everything, limits, movableClock, someone, textOf } from "../support/memory";

const objects = env as unknown as StorageBindings;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const consent = { kind: "url", message: "Sign in at the bank.", url: "https://bank.example/consent?state=1" } as const;
const amount = {
  kind: "form",
  message: "How much?",
  schema: { type: "object", properties: { euros: { type: "integer" } }, required: ["euros"] },
} as const;

/** What the tool of this file does, and how often it began; each test sets it. */
let run: (task: TaskContext) => Promise<string>;
let runs: number;
const tool = defineTool({
  name: "tool",
  description: "Does what the test says.",
  input: { type: "object" },
  task: "optional",
  asks: ["form", "url"],
  run: (_, task) => {
    runs += 1;
    return run(task);
  },
});

beforeEach(() => void (runs = 0));
afterEach(() => void vi.restoreAllMocks());

/** A task of an owner of its own, since storage is fresh for each file only. */
async function started(over: Partial<typeof limits> = {}) {
  const clock = movableClock();
  const registry = createRegistry([tool]);
  const ruled = { ...limits, ...over };
  setStage({ registry, limits: ruled, clock: clock.now });
  const store = durableTaskStore({ objects, limits: ruled, clock: clock.now });
  const tasks = new TaskService({ store, limits: ruled, clock: clock.now });
  const owner = someone(crypto.randomUUID());
  const request = { tool: registry.get("tool")!, arguments: {}, client: everything, origin: "test" };
  const { task } = await tasks.start({ principal: owner, ...request });
  const { id } = task;
  const get = () => tasks.get(owner, id);
  const inPhase = (phase: string) =>
    vi.waitUntil(async () => ((await get()).stage.phase === phase ? get() : false), { timeout: 10_000 });
  const answer = (answers: Readonly<Record<string, unknown>>) => {
    const texts = Object.entries(answers).map(([key, value]) => [key, JSON.stringify(value)] as const);
    return tasks.answer(owner, id, Object.fromEntries(texts));
  };
  /** What the owner's index believes. */
  const row = async () =>
    (await store.list({ namespace: "tasks", owner: ownerOf(owner) as string, limit: 1 })).rows[0]?.phase;
  const object = () => objects.TASKS.get(objects.TASKS.idFromString(decodeTaskId(id)!));
  const alarm = () => runInDurableObject(object(), (_, { storage }) => storage.getAlarm());
  return { clock, store, get, inPhase, answer, row, object, alarm };
}

/** A door a run waits at until the test opens it. */
function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe("a task that asks", () => {
  it("for a visit to a URL goes on when it was accepted, without any content (MCP elicitation §URL Mode)", async () => {
    run = async (task) => JSON.stringify(await task.ask({ consent }));
    const { inPhase, answer, object } = await started();
    const { openQuestions, statusMessage } = await inPhase("input_required");
    expect(openQuestions).toEqual([
      {
        key: "consent",
        request: {
          method: "elicitation/create",
          params: { mode: "url", message: consent.message, url: consent.url },
        },
      },
    ]);
    expect(statusMessage).toBe(consent.message);
    await evictDurableObject(object());
    await answer({ consent: { action: "accept" } });
    expect(textOf(await inPhase("settled"))).toBe('{"consent":{"action":"accept"}}');
    expect(runs).toBe(2);
  });

  it("by form and by URL at once runs again when all is answered, not before", async () => {
    run = async (task) => JSON.stringify(await task.ask({ amount, consent }));
    const { get, inPhase, answer, object } = await started();
    const asked = await inPhase("input_required");
    expect(asked.openQuestions.map(({ key, request }) => [key, request.params["mode"]])).toEqual([
      ["amount", "form"],
      ["consent", "url"],
    ]);
    await answer({ amount: { action: "accept", content: { euros: 5 } } });
    await evictDurableObject(object());
    // Whatever the alarm has to do meanwhile, the tool is not bothered.
    await runDurableObjectAlarm(object());
    const half = await get();
    expect([half.stage.phase, half.openQuestions, runs]).toEqual(["input_required", asked.openQuestions.slice(1), 1]);
    await answer({ consent: { action: "decline" } });
    expect(JSON.parse(textOf(await inPhase("settled")))).toEqual({
      amount: { action: "accept", content: { euros: 5 } },
      consent: { action: "decline" },
    });
    expect(runs).toBe(2);
  });

  it("sees cancel for what nobody answered by its deadline, and keeps what was answered before", async () => {
    run = async (task) => JSON.stringify(await task.ask({ amount, consent }, { timeoutMs: HOUR }));
    const { clock, store, get, inPhase, answer, object } = await started();
    await inPhase("input_required");
    await answer({ amount: { action: "accept", content: { euros: 7 } } });
    await evictDurableObject(object());
    clock.advance(HOUR - MINUTE);
    expect(await store.sweep(100)).toMatchObject({ poked: 0 });
    expect((await get()).openQuestions.map(({ key }) => key)).toEqual(["consent"]);
    // The alarm is set by the time that really passes; the clock was moved, and the sweep finds it out.
    clock.advance(3 * MINUTE);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    expect(JSON.parse(textOf(await inPhase("settled")))).toEqual({
      amount: { action: "accept", content: { euros: 7 } },
      consent: { action: "cancel" },
    });
  });
});

describe("an index that cannot be reached", () => {
  it("learns of a question once it can, although the task's object was evicted meanwhile", async () => {
    const door = gate();
    run = async (task) => {
      await door.opened;
      return JSON.stringify(await task.ask({ amount }));
    };
    const { inPhase, row, object, alarm } = await started();
    await vi.waitUntil(async () => (await row()) === "working");
    const mirror = vi.spyOn(OwnerIndex.prototype, "mirror").mockRejectedValue(new Error("Not now."));
    door.open();
    await inPhase("input_required");
    await vi.waitUntil(() => mirror.mock.calls.length > 0);
    expect(await row()).toBe("working");
    await evictDurableObject(object());
    expect(await alarm()).not.toBeNull();
    mirror.mockRestore();
    await runDurableObjectAlarm(object());
    await vi.waitUntil(async () => (await row()) === "input_required");
  });
});

describe("a lost alarm", () => {
  it("of a sleep is replaced by the sweep", async () => {
    const wake = Date.now() + HOUR;
    run = async (task) => {
      await task.sleep(wake);
      return "awake";
    };
    const { clock, store, get, inPhase, row, object, alarm } = await started();
    await vi.waitUntil(async () => JSON.stringify((await get()).stage).includes("sleeping"));
    await vi.waitUntil(async () => (await row()) === "working");
    await runInDurableObject(object(), (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(object());
    clock.advance(HOUR + 2 * MINUTE);
    expect((await get()).stage).toMatchObject({ activity: { kind: "sleeping" } });
    expect([await alarm(), runs]).toEqual([null, 1]);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    expect(textOf(await inPhase("settled"))).toBe("awake");
  });

  it("of a run that died with its process is replaced by the sweep", async () => {
    const stuck = gate();
    run = async () => {
      if (runs === 1) await stuck.opened;
      return `run ${runs}`;
    };
    const { clock, store, inPhase, row, object } = await started();
    await vi.waitUntil(async () => runs === 1 && (await row()) === "working");
    await runInDurableObject(object(), async (_, state) => {
      await state.storage.deleteAlarm();
      await state.storage.sync();
      state.abort("crash");
    }).catch(() => {});
    clock.advance(limits.timeoutMs + 3 * MINUTE);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    const done = await inPhase("settled");
    expect([textOf(done), done.restarts]).toEqual(["run 2", 1]);
    stuck.open();
  });
});
