import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { defineTool, ProtocolError, ToolError } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { MemoryShelf } from "../../src/service/memory-shelf";
import { everything, memoryService, textOf } from "../support/memory";

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

describe("a run in which several things happen at once", () => {
  const answerAll = async (kit: ReturnType<typeof memoryService>, id: string, how: (message: string) => string) => {
    const { openQuestions } = await kit.rest(id);
    const answers = openQuestions.map(({ key, request }) => [key, accept(how(String(request.params["message"])))]);
    await kit.tasks.answer(kit.owner, id, Object.fromEntries(answers));
  };
  const settled = settledOf;

  it("never takes an answer to one question for an answer to another under the same key", async () => {
    let slowFirst = true;
    const kit = memoryService([
      tool("parallel", async (_, task) => {
        const flow = async (name: string) => {
          // In the first run B asks before A; when repeated, A's step is stored and A asks first.
          await task.step(`load ${name}`, async () => {
            if (name === "A" && slowFirst) await new Promise((resolve) => setTimeout(resolve, 30));
          });
          const { confirm } = await task.ask({ confirm: form(`Delete ${name}?`) });
          return `${name}: ${confirm.action === "accept" ? String(confirm.content?.["v"]) : confirm.action}`;
        };
        const both = await Promise.allSettled([flow("A"), flow("B")]);
        const failed = both.find((one) => one.status === "rejected");
        if (failed) throw failed.reason;
        return both.map((one) => (one.status === "fulfilled" ? one.value : "")).join(", ");
      }),
    ]);
    const { id } = await kit.start("parallel");
    slowFirst = true;
    await answerAll(kit, id, (message) => `yes to ${message}`);
    const task = await vi.waitUntil(async () => {
      const now = await kit.rest(id);
      if (now.openQuestions.length > 0) await answerAll(kit, id, (message) => `yes to ${message}`);
      return now.stage.phase === "settled" ? now : false;
    });
    expect(textOf(task)).toBe("A: yes to Delete A?, B: yes to Delete B?");
  });

  it("gives up on a tool that asks something else each time it is repeated", async () => {
    let n = 0;
    const kit = memoryService([
      tool("fickle", async (_, task) => {
        n += 1;
        return JSON.stringify(await task.ask({ k: form(`Question number ${n}?`) }));
      }),
    ]);
    const { id } = await kit.start("fickle");
    const failed = await vi.waitUntil(async () => {
      const now = await kit.rest(id);
      if (now.openQuestions.length > 0) await answerAll(kit, id, () => "yes");
      return now.stage.phase === "settled" ? now : false;
    });
    expect(failed.statusMessage).toMatch(/something else under "k" each time/);
  });

  it("finishes and stores a step that began beside a question, and does it once", async () => {
    const charge = vi.fn(() => new Promise<string>((resolve) => setTimeout(() => resolve("charged"), 30)));
    const kit = memoryService([
      tool("pays", async (_, task) =>
        JSON.stringify(await Promise.all([task.step("charge", charge), task.ask({ k: form("K?") })])),
      ),
    ]);
    const { id } = await kit.start("pays");
    await answerAll(kit, id, () => "go");
    expect(JSON.parse(textOf(await settled(kit, id)))[0]).toBe("charged");
    expect(charge).toHaveBeenCalledTimes(1);
  });

  it("tells what still goes on beside the end of a run that nobody wants it", async () => {
    const stopped = vi.fn();
    const kit = memoryService([
      tool("leaves", async (_, task) => {
        task.signal.addEventListener("abort", stopped);
        return "done";
      }),
    ]);
    await kit.rest((await kit.start("leaves")).id);
    expect(stopped).toHaveBeenCalledOnce();
  });

  it("takes a failure beside a question for a failure, and tries again", async () => {
    let n = 0;
    const kit = memoryService([
      tool("flaky", async (_, task) => {
        n += 1;
        const failing = n === 1 ? Promise.reject(new Error("the network blinked")) : Promise.resolve("fine");
        return JSON.stringify(await Promise.all([failing, task.ask({ k: form("K?") })]));
      }),
    ]);
    const { id } = await kit.start("flaky");
    await vi.waitUntil(async () => (await kit.tasks.get(kit.owner, id)).attempts === 1);
    kit.clock.advance(200_000);
    await kit.store.sweep(100);
    await vi.waitUntil(async () => (await kit.rest(id)).stage.phase === "input_required");
    await answerAll(kit, id, () => "yes");
    expect(JSON.parse(textOf(await settled(kit, id)))[0]).toBe("fine");
  });

  it("says so when a tool wraps its suspension in an error of its own", async () => {
    const kit = memoryService([
      tool("wraps", async (_, task) => {
        try {
          return JSON.stringify(await task.ask({ k: form("K?") }));
        } catch (cause) {
          throw new Error("something failed", { cause });
        }
      }),
    ]);
    expect((await kit.rest((await kit.start("wraps")).id)).statusMessage).toMatch(/caught the suspension/);
  });

  it("keeps the end of each of several sleeps", async () => {
    const kit = memoryService([
      tool("naps", async (_, task) => {
        const now = kit.clock.now();
        await Promise.all([task.sleep(now + 3_600_000), task.sleep(now + 1_800_000)]);
        return "rested";
      }),
    ]);
    const { id } = await kit.start("naps");
    const asleep = async () => JSON.stringify((await kit.tasks.get(kit.owner, id)).stage).includes("sleeping");
    await vi.waitUntil(asleep);
    kit.clock.advance(1_900_000);
    await kit.store.sweep(100);
    // It woke at the earlier end and sleeps on to the later one, which has not moved.
    await vi.waitUntil(async () => (await asleep()) && (await kit.tasks.get(kit.owner, id)).version > 4);
    kit.clock.advance(1_800_000);
    await kit.store.sweep(100);
    expect(textOf(await settled(kit, id))).toBe("rested");
  });

  it("asks nothing of an ask that was refused", async () => {
    const client = { ...everything, capabilities: { elicitation: {} } };
    const kit = memoryService([
      tool("asks", async (_, task) => {
        await task
          .ask({ a: form("A?"), model: { kind: "sampling", params: { messages: [], maxTokens: 1 } } })
          .catch(() => {});
        return JSON.stringify(await task.ask({ c: form("C?") }));
      }),
    ]);
    const { id } = await kit.start("asks", {}, { client });
    expect((await kit.rest(id)).openQuestions.map(({ key }) => key)).toEqual(["c"]);
  });

  it.each([NaN, Infinity, 0, -1])("refuses a question that would wait for %s ms", async (timeoutMs) => {
    const kit = memoryService([
      tool("asks", (_, task) =>
        task.ask({ k: form("K?") }, { timeoutMs }).then(String, (error: Error) => error.message),
      ),
    ]);
    expect(textOf(await kit.rest((await kit.start("asks")).id))).toMatch(/timeoutMs/);
  });

  it.each([NaN, Infinity, 1e300])("refuses a sleep until %s", async (until) => {
    const kit = memoryService([
      tool("sleeps", (_, task) => task.sleep(until).then(String, (error: Error) => error.message)),
    ]);
    expect(textOf(await kit.rest((await kit.start("sleeps")).id))).toMatch(/task\.sleep needs a time/);
  });

  it("asks also where the longest ttl leaves hardly any time for it", async () => {
    const kit = memoryService([tool("asks", async (_, task) => JSON.stringify(await task.ask({ k: form("K?") })))], {
      ttlMs: 60_000,
      minTtlMs: 60_000,
      maxTtlMs: 60_000,
      maxAttempts: 1,
    });
    expect((await kit.rest((await kit.start("asks")).id)).stage.phase).not.toBe("working");
  });
});

describe("a run that ends in a way nobody planned", () => {
  it("settles with an error whose data is no JSON, without the data", async () => {
    const kit = memoryService([tool("odd", () => Promise.reject(new ProtocolError(-32050, "Odd.", { n: 1n })))]);
    expect((await kit.rest((await kit.start("odd")).id)).stage).toMatchObject({
      outcome: { error: { code: -32050, message: "Odd." } },
    });
  });

  it("fails an attempt whose result is no JSON", async () => {
    const kit = memoryService([
      tool("odd", (() => ({ content: [], structuredContent: 1n })) as never, { maxAttempts: 1 }),
    ]);
    expect((await kit.rest((await kit.start("odd")).id)).stage).toMatchObject({ outcome: { kind: "error" } });
  });

  it("takes progress as far as it is progress", async () => {
    const kit = memoryService([
      tool("odd", (_, task) => {
        task.progress({ message: 5n, progress: NaN, total: 10 } as never);
        return "done";
      }),
    ]);
    const done = await kit.rest((await kit.start("odd")).id);
    expect([textOf(done), done.progress]).toEqual(["done", { total: 10 }]);
  });

  it("begins again when its end could not be stored", async () => {
    const kit = memoryService([tool("tool", () => "done")], { maxAttempts: 2 });
    const commit = vi.spyOn(MemoryShelf.prototype, "commit");
    commit.mockImplementationOnce(function (this: MemoryShelf, ...change) {
      commit.mockRestore();
      const refuse = vi.spyOn(MemoryShelf.prototype, "commit").mockImplementation(function (
        this: MemoryShelf,
        before,
        after,
        ...rest
      ) {
        if (after.stage.phase === "settled") {
          refuse.mockRestore();
          throw new Error("disk full");
        }
        // The original, which the spy stands before.
        return original.call(this, before, after, ...rest);
      });
      return original.call(this, ...change);
    });
    const { id } = await kit.start("tool");
    await vi.waitUntil(async () => (await kit.tasks.get(kit.owner, id)).attempts === 1);
    kit.clock.advance(200_000);
    await kit.store.sweep(100);
    expect(textOf(await settledOf(kit, id))).toBe("done");
    expect(JSON.stringify(kit.lines)).toContain("disk full");
  });

  it("has no open question any more once it is cancelled", async () => {
    const kit = memoryService([tool("asks", async (_, task) => JSON.stringify(await task.ask({ k: form("K?") })))]);
    const { id } = await kit.start("asks");
    await kit.rest(id);
    const told = await kit.tasks.cancel(kit.owner, id);
    expect(told.task.openQuestions).toEqual([]);
  });
});

const original = MemoryShelf.prototype.commit;
const settledOf = (kit: ReturnType<typeof memoryService>, id: string) =>
  vi.waitUntil(async () => ((await kit.rest(id)).stage.phase === "settled" ? kit.rest(id) : false));
