// What only a Workflow can meet: its engine, its other lives, and whoever else has a hand on it.
import { introspectWorkflowInstance, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { durableWorkflows } from "../../durable-objects/durable-workflows";
import { decodeTaskId } from "../../src/task-id";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { textOf } from "../support/memory";
import { draft } from "../support/task";
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
    await instance.modify((modifier) =>
      modifier.mockStepError({ name: "step a (3)" }, new Error("The engine is full.")),
    );
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
