import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { defineTool, ProtocolError, ToolError } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { memoryService, textOf } from "../support/memory";

const input = { type: "object" } as const;
const form = (message: string) =>
  ({
    kind: "form",
    message,
    schema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
  }) as const;
const accept = (v: unknown) => JSON.stringify({ action: "accept", content: { v } });
const tool = (name: string, run: (args: object, task: TaskContext) => Promise<string> | string, more: object = {}) =>
  defineTool({ name, description: name, input, task: "optional", run, ...more });

describe("a run", () => {
  it("returns the tool's result", async () => {
    const { start, rest } = memoryService([tool("hello", () => "Hello!")]);
    expect(textOf(await rest((await start("hello")).id))).toBe("Hello!");
  });

  it("suspends at a question and goes on from the top with the answer", async () => {
    const runs = vi.fn();
    const { start, rest, tasks, owner } = memoryService([
      tool("asker", async (_, task) => {
        runs();
        const { first } = await task.ask({ first: form("First?") });
        const { second } = await task.ask({ second: form("Second?") });
        return JSON.stringify([first, second]);
      }),
    ]);
    const { id } = await start("asker");
    expect((await rest(id)).openQuestions.map(({ key }) => key)).toEqual(["first"]);
    await tasks.answer(owner, id, { first: accept("one"), nobody: accept("?") });
    const second = await vi.waitUntil(async () => (await rest(id)).openQuestions[0]?.key === "second");
    expect(second).toBe(true);
    await tasks.answer(owner, id, { second: '{"action":"decline"}', first: accept("changed") });
    const done = await vi.waitUntil(async () => ((await rest(id)).stage.phase === "settled" ? rest(id) : false));
    expect(JSON.parse(textOf(done))).toEqual([{ action: "accept", content: { v: "one" } }, { action: "decline" }]);
    expect(runs).toHaveBeenCalledTimes(3);
  });

  it("asks several at once, also from parallel asks, and waits for all", async () => {
    const { start, rest, tasks, owner } = memoryService([
      tool("both", async (_, task) =>
        JSON.stringify(await Promise.all([task.ask({ a: form("A?"), b: form("B?") }), task.ask({ c: form("C?") })])),
      ),
    ]);
    const { id } = await start("both");
    expect((await rest(id)).openQuestions.map(({ key }) => key)).toEqual(["a", "b", "c"]);
    expect(
      (await tasks.answer(owner, id, { a: accept("1"), c: accept("3") })).openQuestions.map(({ key }) => key),
    ).toEqual(["b"]);
    await tasks.answer(owner, id, { b: accept("2") });
    const done = await vi.waitUntil(async () => ((await rest(id)).stage.phase === "settled" ? rest(id) : false));
    expect(JSON.parse(textOf(done))[1].c.content.v).toBe("3");
  });

  it("asks a second time under the same author key with a wire key of its own", async () => {
    const { start, rest, tasks, owner } = memoryService([
      tool("insist", async (_, task) => {
        for (let n = 1; ; n += 1) {
          const { sure } = await task.ask({ sure: form(`Sure, time ${n}?`) });
          if (sure.action === "accept" && sure.content?.["v"] === "yes") return `after ${n}`;
        }
      }),
    ]);
    const { id } = await start("insist");
    await rest(id);
    await tasks.answer(owner, id, { sure: accept("no") });
    await vi.waitUntil(async () => (await rest(id)).openQuestions[0]?.key === "sure-2");
    await tasks.answer(owner, id, { "sure-2": accept("yes") });
    const done = await vi.waitUntil(async () => ((await rest(id)).stage.phase === "settled" ? rest(id) : false));
    expect(textOf(done)).toBe("after 2");
  });

  it("retires a malformed answer's key and asks again", async () => {
    const { start, rest, tasks, owner } = memoryService([
      tool("asker", async (_, task) => JSON.stringify(await task.ask({ k: form("K?") }))),
    ]);
    const { id } = await start("asker");
    await rest(id);
    const again = await tasks.answer(owner, id, { k: accept(42) });
    expect(again.openQuestions.map(({ key }) => key)).toEqual(["k-2"]);
    expect(again.openQuestions[0]?.request.params["message"]).toMatch(/v must be/);
  });

  it("sees cancel when a question's deadline passes", async () => {
    const { start, rest, store, clock } = memoryService([
      tool("asker", async (_, task) => JSON.stringify(await task.ask({ k: form("K?") }, { timeoutMs: 3_600_000 }))),
    ]);
    const { id } = await start("asker");
    await rest(id);
    clock.advance(3_700_000);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    const done = await vi.waitUntil(async () => ((await rest(id)).stage.phase === "settled" ? rest(id) : false));
    expect(JSON.parse(textOf(done))).toEqual({ k: { action: "cancel" } });
  });

  it("sleeps without a run, keeps the first end, and raises the ttl so that it can be told", async () => {
    const runs = vi.fn();
    const { start, rest, store, tasks, owner, clock } = memoryService(
      [
        tool("sleeper", async (_, task) => {
          runs();
          await task.sleep(clock.now() + 7 * 86_400_000);
          return "woke";
        }),
      ],
      { ttlMs: 60_000 },
    );
    const { id, createdAt } = await start("sleeper");
    const asleep = await vi.waitUntil(async () => {
      const task = await tasks.get(owner, id);
      return task.stage.phase === "working" && task.stage.activity.kind === "sleeping" ? task : false;
    });
    expect(asleep.ttlMs).toBeGreaterThanOrEqual(7 * 86_400_000);
    expect(asleep.createdAt).toBe(createdAt);
    clock.advance(7 * 86_400_000 + 70_000);
    await store.sweep(100);
    expect(textOf(await rest(id))).toBe("woke");
    expect(runs).toHaveBeenCalledTimes(2);
  });

  it("refuses a sleep or question that would outlive the longest ttl, as an error the tool sees", async () => {
    const { start, rest, clock } = memoryService(
      [
        tool("sleeper", (_, task) =>
          task.sleep(clock.now() + 86_400_000).then(
            () => "woke",
            (error: Error) => error.message,
          ),
        ),
      ],
      { ttlMs: 60_000, maxTtlMs: 3_600_000 },
    );
    expect(textOf(await rest((await start("sleeper")).id))).toMatch(/TASK_MAX_TTL_MS \(3600000\)/);
  });

  it("stores what a step returned and does not do it again", async () => {
    const work = vi.fn(() => ({ at: 1 }));
    const { start, rest, tasks, owner } = memoryService([
      tool("stepper", async (_, task) => {
        const value = await task.step("once", work);
        await task.ask({ k: form("K?") });
        return JSON.stringify(value);
      }),
    ]);
    const { id } = await start("stepper");
    await rest(id);
    await tasks.answer(owner, id, { k: accept("go") });
    const done = await vi.waitUntil(async () => ((await rest(id)).stage.phase === "settled" ? rest(id) : false));
    expect(textOf(done)).toBe('{"at":1}');
    expect(work).toHaveBeenCalledTimes(1);
  });

  it("tries a failing tool again, then gives up with a reason and no exception text", async () => {
    const { start, rest, store, clock, lines, tasks, owner } = memoryService([
      tool("thrower", () => Promise.reject(new Error("secret: hunter2"))),
    ]);
    const { id } = await start("thrower");
    for (const attempt of [1, 2]) {
      await vi.waitUntil(async () => (await tasks.get(owner, id)).attempts === attempt);
      expect((await tasks.get(owner, id)).statusMessage).toBe(`Attempt ${attempt} of 3: The tool "thrower" failed.`);
      clock.advance(200_000);
      await store.sweep(100);
    }
    const failed = await rest(id);
    expect(failed.stage).toMatchObject({
      outcome: { kind: "error", error: { code: -32603, message: 'The tool "thrower" failed.' } },
    });
    expect(JSON.stringify(failed)).not.toContain("hunter2");
    expect(JSON.stringify(lines)).toContain("hunter2");
  });

  it("settles a ToolError as a result with isError, a ProtocolError as the error, both at once", async () => {
    const { start, rest } = memoryService([
      tool("refuses", () => Promise.reject(new ToolError("Not on a Sunday."))),
      tool("breaks", () => Promise.reject(new ProtocolError(-32050, "Upstream said no.", { upstream: 7 }))),
    ]);
    const refused = await rest((await start("refuses")).id);
    expect(refused).toMatchObject({
      statusMessage: "Not on a Sunday.",
      attempts: 0,
      stage: { outcome: { kind: "result", isError: true } },
    });
    const broken = await rest((await start("breaks")).id);
    expect(broken.stage).toMatchObject({
      outcome: { kind: "error", error: { code: -32050, message: "Upstream said no.", data: '{"upstream":7}' } },
    });
  });

  it("stops a run that takes longer than it may, although it ignores its signal", async () => {
    const { start, rest } = memoryService([
      tool("hangs", () => new Promise<string>(() => {}), { timeoutMs: 20, maxAttempts: 1 }),
    ]);
    const failed = await rest((await start("hangs")).id);
    expect(failed.statusMessage).toMatch(/longer than it may/);
  });

  it("aborts the run's signal on cancel, and drops what comes late", async () => {
    const seen = vi.fn();
    let release = (_: string): void => {};
    const late = new Promise<string>((resolve) => (release = resolve));
    const { start, tasks, owner } = memoryService([
      tool("slow", async (_, task) => {
        task.signal.addEventListener("abort", seen);
        task.progress({ message: "begun" });
        const text = await late;
        await task.step("after", () => 1);
        return text;
      }),
    ]);
    const { id } = await start("slow");
    await vi.waitUntil(async () => (await tasks.get(owner, id)).progress?.message === "begun");
    const told = await tasks.cancel(owner, id);
    expect([told.changed, told.task.stage]).toMatchObject([true, { outcome: { kind: "cancelled" } }]);
    expect(seen).toHaveBeenCalledOnce();
    release("too late");
    await new Promise((resolve) => setImmediate(resolve));
    expect((await tasks.get(owner, id)).version).toBe(told.task.version);
    expect((await tasks.cancel(owner, id)).changed).toBe(false);
  });

  it("says so when a tool swallows its suspension", async () => {
    const { start, rest } = memoryService([
      tool("swallows", async (_, task) => {
        await task.ask({ k: form("K?") }).catch(() => {});
        return "went on";
      }),
    ]);
    expect((await rest((await start("swallows")).id)).statusMessage).toMatch(/caught the suspension/);
  });

  it("keeps the newest progress", async () => {
    const { start, rest } = memoryService([
      tool("reports", (_, task) => {
        for (let n = 1; n <= 500; n += 1) task.progress({ message: `at ${n}`, progress: n, total: 500 });
        return "done";
      }),
    ]);
    expect((await rest((await start("reports")).id)).progress).toEqual({
      message: "at 500",
      progress: 500,
      total: 500,
    });
  });

  it("checks the output against its schema", async () => {
    const output = z.object({ n: z.number() });
    const good = defineTool({
      name: "good",
      description: "good",
      input,
      output,
      task: "optional",
      run: () => ({ n: 1 }),
    });
    const bad = defineTool({
      name: "bad",
      description: "bad",
      input,
      output,
      task: "optional",
      run: () => ({ n: "one" }) as never,
    });
    const { start, rest } = memoryService([good, bad]);
    expect((await rest((await start("good")).id)).stage).toMatchObject({ outcome: { kind: "result", isError: false } });
    expect((await rest((await start("bad")).id)).stage).toMatchObject({ outcome: { kind: "error" } });
  });

  it("refuses a result over the limit, naming it", async () => {
    const { start, rest } = memoryService([tool("big", () => "x".repeat(2_000))], { resultLimitBytes: 1_000 });
    expect((await rest((await start("big")).id)).statusMessage).toMatch(/RESULT_LIMIT_BYTES \(1000 bytes\)/);
  });

  it("reads as not found from the instant it expires, and its waiters are told", async () => {
    const { start, rest, clock, tasks, owner, store } = memoryService(
      [tool("hangs", () => new Promise<string>(() => {}))],
      { ttlMs: 60_000 },
    );
    const { id } = await start("hangs");
    const waiting = rest(id).catch((error: Error) => error.message);
    await vi.waitUntil(async () => (await tasks.get(owner, id)).stage.phase === "working");
    clock.advance(60_001);
    await expect(tasks.get(owner, id)).rejects.toMatchObject({ code: "not_found" });
    expect(await store.sweep(100)).toMatchObject({ removed: 1 });
    expect(await waiting).toMatch(/No such task/);
  });
});
