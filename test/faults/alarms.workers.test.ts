// Alarms that are lost, and an index that refuses: whatever is late is found, whatever was owed is told.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { IndexRows } from "../../durable-objects/index-rows";
import { OwnerIndex } from "../../durable-objects/owner-index";
import { indexOf } from "../../durable-objects/rpc";
import type { TaskCalls } from "../../src/service/indexed-task-store";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { directoryOf, emptyDeployment, indexNamed, NOTHING, objects, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { limits, textOf } from "../support/memory";
import {
  crash,
  created,
  draftFor,
  evict,
  expectSound,
  HOUR,
  INDEX,
  interposed,
  loseAlarm,
  MINUTE,
  rest,
  rowOf,
  until,
} from "./faults";

afterEach(() => void vi.restoreAllMocks());

const question = { k: { kind: "form", message: "K?", schema: { type: "object" } } } as const;

/** A deployment of one tool, which knows how often it began. */
async function deployed(run: (task: TaskContext, began: number) => Promise<string>) {
  const deployment = await emptyDeployment();
  let began = 0;
  const facts = { name: "tool", description: "Does what the test says.", task: "optional", asks: ["form"] } as const;
  const tool = defineTool({ ...facts, input: { type: "object" }, run: (_, task) => run(task, (began += 1)) });
  setStage({ registry: createRegistry([tool]), limits, clock: deployment.now });
  return { ...deployment, began: () => began };
}

describe("a lost alarm is made up for by the sweep", () => {
  it("of a task that was never begun", async () => {
    const deployment = await deployed(async () => "done");
    const { store, now, advance, began } = deployment;
    const draft = draftFor(deployment, "tool");
    const caps = { maxStored: 9, maxLive: 9, maxPerMinute: 9 };
    await indexOf(objects, draft).reserve({ ...draft, deadline: now() + 30_000, idempotency: null, ...caps }, now());
    await runInDurableObject(taskOf(draft.id), async (object, { storage }) => {
      await (object as unknown as TaskCalls).create(draft, now() + 30_000);
      await storage.deleteAlarm();
    });
    await evict(taskOf(draft.id));
    expect([began(), (await storedIn(taskOf(draft.id))).alarm]).toEqual([0, null]);
    expect(await store.sweep(1_000)).toMatchObject({ examined: 0 });
    advance(3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    expect(textOf(await until(store, draft.id, "settled"))).toBe("done");
    await rest(deployment, [draft.id]);
    await expectSound(store, [draft.id]);
  });

  type Wait = readonly [what: string, stage: string, due: number, run: Parameters<typeof deployed>[0], text: string];
  const waits: readonly Wait[] = [
    [
      "of one that sleeps",
      "sleeping",
      HOUR,
      async (task, began) => {
        await task.step("once", () => began);
        await task.sleep((await task.step("until", () => Date.now())) + HOUR);
        return "awake";
      },
      "awake",
    ],
    [
      "of one that backs off",
      "backing_off",
      MINUTE,
      async (_, began) => {
        if (began === 1) throw new Error("This attempt fails on purpose.");
        return "second try";
      },
      "second try",
    ],
    [
      "of one that waits for an answer until a deadline",
      "input_required",
      HOUR,
      async (task) => (await task.ask(question, { timeoutMs: HOUR })).k.action,
      "cancel",
    ],
  ];

  it.each(waits)("%s", async (_, stage, due, run, text) => {
    const deployment = await deployed(run);
    const { store, advance, began } = deployment;
    const id = await created(deployment, "tool");
    await until(store, id, stage);
    // What it owes its index is told at once; what remains is the alarm of its own.
    await expect.poll(async () => (await storedIn(indexNamed(INDEX))).rows["task"]?.[0]?.["due"]).not.toBeNull();
    await loseAlarm(id);
    await evict(taskOf(id));
    expect(await store.sweep(1_000)).toMatchObject({ poked: 0 });
    expect([(await storedIn(taskOf(id))).alarm, began()]).toEqual([null, 1]);
    advance(due + 3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    expect(textOf(await until(store, id, "settled"))).toBe(text);
    await rest(deployment, [id]);
    await expectSound(store, [id]);
  });

  it("of one whose run died with its process", async () => {
    const deployment = await deployed(async (task, began) => {
      if (began > 1) return `run ${began}`;
      return new Promise((_, reject) =>
        task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)),
      );
    });
    const { store, advance, began } = deployment;
    const id = await created(deployment, "tool");
    await until(store, id, "running");
    await expect.poll(async () => (await rowOf(store, id))?.phase).toBe("working");
    await loseAlarm(id);
    await crash(taskOf(id));
    // Nobody looks at it: a look alone would set it going.
    advance(limits.timeoutMs + 3 * MINUTE);
    expect(began()).toBe(1);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    const done = await until(store, id, "settled");
    expect([textOf(done), done.restarts]).toEqual(["run 2", 1]);
    await rest(deployment, [id]);
    await expectSound(store, [id]);
  });
});

describe("an index that refuses", () => {
  it.each([
    ["is overloaded", { overloaded: true }],
    ["restarts again and again", { durableObjectReset: true }],
  ])("to reserve because it %s fails the create, which leaves nothing", async (_, fault) => {
    const deployment = await deployed(async () => "done");
    const { store, now, advance } = deployment;
    const refusing = interposed(objects, async (method) => {
      if (method === "reserve") throw Object.assign(new Error("Not now."), fault);
    });
    const draft = draftFor(deployment, "tool");
    const create = durableTaskStore({ objects: refusing, limits, clock: now }).create(draft);
    await expect(create).rejects.toMatchObject({ code: "overloaded" });
    expect(await storedIn(taskOf(draft.id))).toEqual(NOTHING);
    advance(5 * MINUTE);
    await store.sweep(1_000);
    expect(await storedIn(indexNamed(INDEX))).toEqual(NOTHING);
    expect((await storedIn(directoryOf(INDEX))).rows["owner"] ?? []).toEqual([]);
    expect(await store.create({ ...draft, createdAt: now() })).toMatchObject({ kind: "created" });
  });

  it("once it has told the directory costs the sweep a visit, and leaves nothing after it", async () => {
    const deployment = await deployed(async () => "done");
    const { store, advance } = deployment;
    const insert = vi.spyOn(IndexRows.prototype, "insert").mockImplementation(() => {
      throw new Error("The disk is full.");
    });
    const draft = draftFor(deployment, "tool");
    await expect(store.create(draft)).rejects.toThrow();
    insert.mockRestore();
    expect((await storedIn(directoryOf(INDEX))).rows["owner"]).toHaveLength(1);
    advance(5 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ owners: 1, examined: 0 });
    expect((await storedIn(directoryOf(INDEX))).rows["owner"]).toEqual([]);
    expect([await storedIn(taskOf(draft.id)), await storedIn(indexNamed(INDEX))]).toEqual([NOTHING, NOTHING]);
  });

  it("to be told for a while keeps no task from settling, and hears of it from the task once it is back", async () => {
    const deployment = await deployed(async () => "done");
    const { store } = deployment;
    const mirror = vi.spyOn(OwnerIndex.prototype, "mirror").mockRejectedValue(new Error("Not now."));
    const id = await created(deployment, "tool");
    expect(textOf(await until(store, id, "settled"))).toBe("done");
    for (let round = 0; round < 3; round += 1) {
      await vi.waitUntil(async () => (await storedIn(taskOf(id))).alarm !== null);
      await runDurableObjectAlarm(taskOf(id));
      await evict(taskOf(id));
    }
    const before = (await storedIn(indexNamed(INDEX))).rows["task"]?.[0];
    expect(before).toMatchObject({ phase: "submitted", version: 0 });
    mirror.mockRestore();
    await runDurableObjectAlarm(taskOf(id));
    expect(await rowOf(store, id)).toMatchObject({ phase: "settled", outcome: "result" });
    await expect.poll(async () => (await storedIn(taskOf(id))).alarm).toBeNull();
    await expectSound(store, [id]);
  });
});
