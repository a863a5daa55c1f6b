// What only a Workflow can meet: its engine, its other lives, and whoever else has a hand on it.
import { introspectWorkflowInstance, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TaskObject } from "../stores/worker";
import { durableWorkflows } from "../../durable-objects/durable-workflows";
import { decodeTaskId } from "../../src/task-id";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { textOf } from "../support/memory";
import { draft } from "../support/task";
import { evict, loseAlarm } from "../faults/faults";
import { deploy, door, objects, owner, taskObject, workflowOf } from "./stage";
import { ownerOf } from "../../src/service/principal";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What the tool does, and how often it began; each test sets it. */
let run: (task: TaskContext) => Promise<string>;
let began: number;
const tool = defineTool({
  name: "tool",
  description: "Does what the test says.",
  input: { type: "object" },
  task: "optional",
  runs: "workflow",
  run: (_, task) => {
    began += 1;
    return run(task);
  },
});
const question = { k: { kind: "form", message: "K?", schema: { type: "object" } } } as const;

let hanging = door();
beforeEach(() => {
  run = async () => "done";
  began = 0;
  hanging = door();
});
afterEach(() => hanging.open());

const statusOf = async (id: string) => (await (await workflowOf(id)).status()).status;

describe("a Workflow that somebody ended", () => {
  const failed = (reason: string) => ({
    statusMessage: reason,
    stage: { outcome: { kind: "error", error: { code: -32603 } } },
  });
  const terminated = failed("The Workflow that ran this task was terminated.");

  it("while it ran, settles its task with the reason", async () => {
    const { start, settled, clock } = deploy([tool]);
    run = async (task) => `${await task.step("never ends", hanging.pass)}`;
    const id = await start("tool");
    await hanging.reached();
    await (await workflowOf(id)).terminate();
    clock.advance(31_000);
    await runDurableObjectAlarm(taskObject(id));
    expect(await settled(id)).toMatchObject(terminated);
  });

  it("while it slept, settles its task with the reason when it should have woken", async () => {
    const { start, settled, clock, get } = deploy([tool]);
    run = async (task) => {
      await task.sleep(clock.now() + HOUR);
      return "awake";
    };
    const id = await start("tool");
    await vi.waitUntil(async () => JSON.stringify(await get(id)).includes('"sleeping"'));
    await (await workflowOf(id)).terminate();
    clock.advance(HOUR + MINUTE);
    await runDurableObjectAlarm(taskObject(id));
    expect(await settled(id)).toMatchObject(terminated);
  });

  it("while it slept, is found by the sweep where its task has lost its alarm too", async () => {
    const { start, settled, clock, until, store } = deploy([tool]);
    run = async (task) => {
      await task.sleep(clock.now() + HOUR);
      return "awake";
    };
    const id = await start("tool");
    await vi.waitUntil(async () => JSON.stringify(await until(id, "working")).includes('"sleeping"'));
    await (await workflowOf(id)).terminate();
    await loseAlarm(id);
    await evict(taskObject(id));
    clock.advance(HOUR + 3 * MINUTE);
    await store.sweep(1_000);
    expect(await settled(id)).toMatchObject(terminated);
  });

  it("while it waited, settles its task with the reason once there is an answer", async () => {
    const { start, settled, until, answer } = deploy([tool]);
    run = async (task) => (await task.ask(question)).k.action;
    const id = await start("tool");
    await until(id, "input_required");
    await (await workflowOf(id)).terminate();
    await answer(id, "k");
    expect(await settled(id)).toMatchObject(terminated);
    expect(began).toBe(1);
  });

  it("by an error of its engine, settles its task with a reason", async () => {
    const { store, settled, clock, lines } = deploy([tool]);
    run = async (task) => `${await task.step("a", () => 1)}`;
    const id = store.mint();
    await using instance = await introspectWorkflowInstance(objects.TASK_WORKFLOW!, decodeTaskId(id) as string);
    await instance.modify(async (modifier) => {
      // Whether the run begins before or after its task hears that it was handed over, nobody can say.
      for (const name of ["step a (2)", "step a (3)"]) await modifier.mockStepError({ name }, new Error("It is full."));
    });
    const facts = {
      namespace: "tasks",
      owner: ownerOf(owner),
      createdAt: clock.now(),
      runs: { in: "workflow" },
    } as const;
    await store.create(draft({ id, ...facts, ttlMs: null }));
    await vi.waitUntil(async () => began === 1 && (await statusOf(id)) === "errored", { timeout: 20_000 });
    clock.advance(31_000);
    await runDurableObjectAlarm(taskObject(id));
    expect(await settled(id)).toMatchObject(failed("The Workflow that ran this task failed."));
    expect(lines).toContain("A Workflow failed.");
  });
});

describe("a Workflow", () => {
  it("is made once, however often it is asked for", async () => {
    const { start, settled } = deploy([tool]);
    run = async () => {
      await hanging.pass();
      return "done";
    };
    const id = await start("tool");
    await hanging.reached();
    const { wake } = durableWorkflows(objects, () => {})!;
    expect(await wake({ id, startedAt: null })).toBeNull();
    expect(await wake({ id, startedAt: 1 })).toBeNull();
    hanging.open();
    expect(textOf(await settled(id))).toBe("done");
    expect(began).toBe(1);
  });

  it("that begins again from the top goes on where its task is, and the restart is counted", async () => {
    const { start, settled } = deploy([tool]);
    const step = vi.fn(() => 1);
    run = async (task) => {
      await task.step("first", step);
      if (began === 1) await hanging.pass();
      return `run ${began}`;
    };
    const id = await start("tool");
    await hanging.reached();
    await (await workflowOf(id)).restart();
    const done = await settled(id);
    expect(textOf(done)).toBe("run 2");
    expect(step).toHaveBeenCalledTimes(1);
    expect([done.restarts, done.attempts]).toEqual([1, 0]);
  });

  it("goes on although its task's object dies with every other answer, and does each step once", async () => {
    const { start, settled, clock, until, answer } = deploy([tool]);
    const steps = { a: vi.fn(() => 1), b: vi.fn(() => 2) };
    run = async (task) => {
      const a = await task.step("a", steps.a);
      await task.sleep(await task.step("end", () => clock.now() + 1_500));
      const { k } = await task.ask(question);
      return `${a} ${k.action} ${await task.step("b", steps.b)}`;
    };
    const { work } = TaskObject.prototype;
    const lost: string[] = [];
    vi.spyOn(TaskObject.prototype, "work").mockImplementation(async function (
      this: InstanceType<typeof TaskObject>,
      act,
    ) {
      const worked = await work.call(this, act);
      told += 1;
      if (told % 2 === 1) {
        lost.push(act.kind === "emit" ? act.event.type : act.kind);
        (this as unknown as { ctx: DurableObjectState }).ctx.abort("It dies.");
      }
      return worked;
    });
    let told = 0;
    const id = await start("tool");
    await until(id, "input_required");
    await answer(id, "k");
    const done = await settled(id);
    vi.restoreAllMocks();
    expect(textOf(done)).toBe("1 accept 2");
    expect([steps.a.mock.calls.length, steps.b.mock.calls.length]).toEqual([1, 1]);
    expect(lost).toEqual(expect.arrayContaining(["claim", "stepped", "slept", "asked", "settled"]));
    expect([done.attempts, done.restarts]).toEqual([0, 0]);
  });

  it("goes on wherever it began again from the top, and does each step once that was stored", async () => {
    const { start, settled, clock, until, answer } = deploy([tool]);
    const seen = new Map<string, { readonly restartAt: number; calls: number }>();
    const steps: string[] = [];
    run = async (task) => {
      const step = (key: string): Promise<string> => task.step(key, () => (steps.push(`${task.id} ${key}`), key));
      const a = await step("a");
      await task.sleep(await task.step("end", () => clock.now() + 1_200));
      const { k } = await task.ask(question);
      return `${a} ${k.action} ${await step("b")}`;
    };
    const { work } = TaskObject.prototype;
    vi.spyOn(TaskObject.prototype, "work").mockImplementation(async function (
      this: InstanceType<typeof TaskObject>,
      act,
    ) {
      const worked = await work.call(this, act);
      const hex = (this as unknown as { ctx: DurableObjectState }).ctx.id.toString();
      const one = seen.get(hex) ?? { restartAt: seen.size + 1, calls: 0 };
      seen.set(hex, one);
      one.calls += 1;
      if (one.calls === one.restartAt) await (await objects.TASK_WORKFLOW!.get(hex)).restart();
      return worked;
    });
    const ids = await Promise.all(Array.from({ length: 8 }, () => start("tool")));
    for (const id of ids) {
      await until(id, "input_required");
      await answer(id, "k");
    }
    const done = await Promise.all(ids.map(settled));
    vi.restoreAllMocks();
    expect(new Set(done.map(textOf))).toEqual(new Set(["a accept b"]));
    for (const { restartAt, calls } of seen.values()) expect(calls).toBeGreaterThanOrEqual(restartAt);
    expect(new Set(steps).size).toBe(steps.length);
    for (const { restarts, attempts } of done) expect([restarts <= 1, attempts]).toEqual([true, 0]);
  });

  it("that is gone is made again, and goes on where its task is", async () => {
    const { start, settled, until, answer } = deploy([tool]);
    run = async (task) => (await task.ask(question)).k.action;
    const id = await start("tool");
    await until(id, "input_required");
    await (await workflowOf(id)).delete();
    await answer(id, "k");
    expect(textOf(await settled(id))).toBe("accept");
    expect(began).toBe(2);
  });

  it("ends with its task: cancelled from outside it is terminated, and otherwise it is complete", async () => {
    const { start, settled, until, tasks } = deploy([tool]);
    const finished = await start("tool");
    await settled(finished);
    await expect.poll(() => statusOf(finished)).toBe("complete");
    run = async (task) => (await task.ask(question)).k.action;
    const id = await start("tool");
    await until(id, "input_required");
    await tasks.cancel(owner, id);
    await expect.poll(() => statusOf(id)).toBe("terminated");
  });

  it("that is paused goes on when it is resumed, and its task waits for that", async () => {
    const { start, settled, until, answer, get } = deploy([tool]);
    run = async (task) => (await task.ask(question)).k.action;
    const id = await start("tool");
    await until(id, "input_required");
    await (await workflowOf(id)).pause();
    await expect.poll(() => statusOf(id)).toBe("paused");
    await answer(id, "k");
    await expect.poll(async () => (await get(id)).offeredAt).not.toBeNull();
    expect((await get(id)).stage).toMatchObject({ activity: { kind: "due" } });
    await (await workflowOf(id)).resume();
    expect(textOf(await settled(id))).toBe("accept");
  });
});
