import { describe, expect, it, vi } from "vitest";
import { holdTask, type HoldOptions } from "../../src/service/bridge";
import type { OpenQuestion, TaskSnapshot } from "../../src/service/task-store";
import type { TaskContext } from "../../src/tool/context";
import { defineTool } from "../../src/tool/define-tool";
import { everything, memoryService, someone, textOf } from "../support/memory";

const form = { kind: "form", message: "Sure?", schema: { type: "object" } } as const;
const tool = (run: (task: TaskContext) => unknown) =>
  defineTool({
    name: "t",
    description: "t",
    input: { type: "object" },
    task: "optional",
    run: (_, task) => run(task) as never,
  });

/** Long enough never to be what ends a hold. */
const LONG = 60_000;

function held(run: (task: TaskContext) => unknown) {
  const service = memoryService([tool(run)]);
  const hold = (id: string, options: Partial<HoldOptions> = {}): Promise<TaskSnapshot> =>
    holdTask(service.tasks, service.owner, id, {
      waitMs: LONG,
      signal: new AbortController().signal,
      ...options,
    });
  return { ...service, hold };
}

describe("holding a task", () => {
  it("ends with the settled task, result and all", async () => {
    const { start, hold } = held(() => "done");
    const task = await hold((await start("t")).id);
    expect([task.stage.phase, textOf(task)]).toEqual(["settled", "done"]);
  });

  it("ends with the task although others have used up its polls", async () => {
    const service = memoryService([tool(() => new Promise(() => {}))], { pollBurst: 10 });
    const { id } = await service.start("t");
    const polls = Array.from({ length: 12 }, () => service.tasks.get(service.owner, id));
    expect((await Promise.allSettled(polls)).map(({ status }) => status)).toContain("rejected");
    const signal = new AbortController().signal;
    const task = await holdTask(service.tasks, service.owner, id, { waitMs: 20, signal });
    expect([task.stage.phase, task.id]).toEqual(["working", id]);
  });

  it("ends when the time is up, and the work goes on", async () => {
    let finish = (_: string): void => {};
    const { start, hold, rest } = held(() => new Promise((resolve) => (finish = resolve)));
    const { id } = await start("t");
    expect(await hold(id, { waitMs: 20 })).toMatchObject({ id, stage: { phase: "working" } });
    finish("late");
    expect(textOf(await rest(id))).toBe("late");
  });

  it("only looks when there is no time at all", async () => {
    const { start, hold, rest } = held(() => "done");
    const { id } = await start("t");
    expect((await hold(id, { waitMs: 0 })).stage.phase).not.toBe("settled");
    await rest(id);
    expect((await hold(id, { waitMs: 0 })).stage.phase).toBe("settled");
  });

  it("ends at a question for who cannot ask", async () => {
    const { start, hold } = held((task) => task.ask({ sure: form }));
    const { id } = await start("t");
    for (const waitMs of [LONG, 0]) {
      expect(await hold(id, { waitMs })).toMatchObject({ openQuestions: [{ key: "sure" }] });
    }
  });

  it("goes on over a question that the caller asks itself", async () => {
    const asked: OpenQuestion[] = [];
    const { start, hold, tasks, owner } = held(async (task) => JSON.stringify(await task.ask({ sure: form })));
    const { id } = await start("t");
    const holding = hold(id, {
      deliver: 2,
      onDeliver: (questions) => asked.push(...questions) > -1,
    });
    await vi.waitUntil(() => asked.length > 0);
    await tasks.answer(owner, id, { sure: '{"action":"decline"}' });
    expect(textOf(await holding)).toBe('{"sure":{"action":"decline"}}');
    expect(asked.map(({ key }) => key)).toEqual(["sure"]);
  });

  it("ends at once at a question that the caller finds it cannot ask", async () => {
    const { start, hold } = held((task) => task.ask({ sure: form }));
    const { id } = await start("t");
    const options = {
      deliver: 2,
      onDeliver: (asked: readonly OpenQuestion[]) => asked.length === 0,
    } as const;
    expect((await hold(id, options)).stage.phase).toBe("input_required");
  });

  it("tells progress only to who carries the task, of those that offer", async () => {
    let over = false;
    const { start, hold } = held(async ({ progress }) => {
      for (let step = 0; !over; step += 1) {
        progress({ progress: step });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return "done";
    });
    const { id } = await start("t");
    const heard = new Set<string>();
    const carries = vi.fn(() => true);
    const delivering = { deliver: 2 } as const;
    const first = hold(id, { ...delivering, onDeliver: carries, onProgress: () => heard.add("first") });
    await vi.waitUntil(() => carries.mock.calls.length > 0);
    const second = hold(id, { ...delivering, onProgress: () => heard.add("second") });
    const third = hold(id, { onProgress: () => heard.add("third") });
    // The third came last, so what it hears the second could have heard.
    await vi.waitUntil(() => heard.has("third"));
    over = true;
    await Promise.all([first, second, third]);
    expect(heard).toEqual(new Set(["first", "third"]));
  });

  it("ends with the caller's leaving, which does nothing to the task", async () => {
    const { start, hold, tasks, owner } = held(() => new Promise(() => {}));
    const { id } = await start("t");
    const client = new AbortController();
    const holding = hold(id, { signal: client.signal });
    client.abort(new Error("gone"));
    await expect(holding).rejects.toThrow("gone");
    expect((await tasks.get(owner, id)).stage.phase).not.toBe("settled");
  });

  it("finds nothing of somebody else's, nor what expires meanwhile", async () => {
    const { start, tasks, hold, clock } = held((task) => task.sleep(Date.now() + 10_000_000));
    const { id } = await start("t");
    const options = { waitMs: LONG, signal: new AbortController().signal } as const;
    await expect(holdTask(tasks, someone("b"), id, options)).rejects.toMatchObject({ code: "not_found" });
    clock.advance(10 * 86_400_000);
    await expect(hold(id)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a task behind a held call", () => {
  it("may ask what its client did not declare, since a helper answers", async () => {
    const { start, rest } = held((task) => task.ask({ sure: form }));
    const client = { ...everything, capabilities: {} };
    const refused = await rest((await start("t", {}, { client })).id);
    expect(refused.stage).toMatchObject({ phase: "settled", outcome: { kind: "error" } });
    const asking = await rest((await start("t", {}, { client: { ...client, bridged: true } })).id);
    expect(asking.openQuestions.map(({ key }) => key)).toEqual(["sure"]);
  });
});

describe("a caller's list", () => {
  it("is its own, newest first, page by page; anonymous callers have none", async () => {
    const { start, tasks, owner, clock } = held(() => "done");
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.unshift((await start("t")).id);
      clock.advance(1);
    }
    const first = await tasks.list(owner, { limit: 2 });
    expect([first.rows.map(({ id }) => id), first.more]).toEqual([ids.slice(0, 2), true]);
    const [, last] = first.rows;
    const second = await tasks.list(owner, { limit: 2, ...(last && { after: last }) });
    expect([second.rows.map(({ id }) => id), second.more]).toEqual([ids.slice(2), false]);
    expect((await tasks.list(someone("b"), { limit: 2 })).rows).toEqual([]);
    expect(await tasks.list({ kind: "anonymous" }, { limit: 2 })).toEqual({ rows: [], more: false });
  });
});
