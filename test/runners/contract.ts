import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TaskContext } from "../../src/tool/context";
import { defineTool, ProtocolError, ToolError, type ToolRunner } from "../../src/tool/define-tool";
import { textOf } from "../support/memory";
import { deploy, door, owner, type StoreKind } from "./stage";

const SECOND = 1_000;
const MEBIBYTE = 1_048_576;

const form = (message: string) => ({ kind: "form", message, schema: { type: "object" } }) as const;

/**
 * What a tool may rely on wherever it runs: the same source, the same behaviour. `renew` is what a deploy does to
 * whoever runs the task.
 */
export function describeRunner(
  name: string,
  runs: ToolRunner,
  kept: StoreKind,
  renew: (id: string) => Promise<unknown> = async () => {},
): void {
  describe(name, () => {
    /** What the tool does, and how often it began; each test sets it. */
    let run: (task: TaskContext) => Promise<string>;
    let began: number;
    const facts = {
      description: "Does what the test says.",
      input: { type: "object" },
      task: "optional",
      runs,
    } as const;
    const tool = defineTool({
      ...facts,
      name: "tool",
      version: "1",
      run: (_, task) => {
        began += 1;
        return run(task);
      },
    });
    const changed = { ...tool, version: "2" };
    const brief = defineTool({ ...facts, name: "brief", timeoutMs: 500, maxAttempts: 1, run: (_, task) => run(task) });

    /** Runs that hang are let go when their test is over. */
    let hanging = door();
    beforeEach(() => {
      run = async () => "done";
      began = 0;
      hanging = door();
    });
    afterEach(() => hanging.open());

    it("runs a tool with nobody attached", async () => {
      const { start, settled } = deploy([tool], kept);
      expect(textOf(await settled(await start("tool")))).toBe("done");
      expect(began).toBe(1);
    });

    it("does each step once, and counts the attempts since the last one", async () => {
      const steps = { a: vi.fn(() => ({ n: 1 })), b: vi.fn(() => 2) };
      const attempts: number[] = [];
      run = async (task) => {
        attempts.push(task.attempt);
        const { n } = await task.step("a", steps.a);
        if (began === 1) throw new Error("This attempt fails on purpose.");
        return `${n} ${await task.step("b", steps.b)}`;
      };
      const { start, settled } = deploy([tool], kept);
      const task = await settled(await start("tool"));
      expect(textOf(task)).toBe("1 2");
      expect([steps.a.mock.calls.length, steps.b.mock.calls.length]).toEqual([1, 1]);
      expect(attempts).toEqual([1, 2]);
      expect(task.restarts).toBe(0);
    });

    it("repeats a step that fails, and no other", async () => {
      const first = vi.fn(() => 1);
      const second = vi.fn(() => {
        if (second.mock.calls.length === 1) throw new ToolError("Not yet.", { retry: true });
        return 2;
      });
      run = async (task) => `${await task.step("first", first)} ${await task.step("second", second)}`;
      const { start, settled } = deploy([tool], kept);
      expect(textOf(await settled(await start("tool")))).toBe("1 2");
      expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 2]);
    });

    it("sleeps, and goes on from the top when the time has come", async () => {
      const { start, settled, until, clock } = deploy([tool], kept);
      const step = vi.fn(() => "before");
      run = async (task) => {
        const before = await task.step("before", step);
        await task.sleep(clock.now() + 2 * SECOND);
        return `${before} and after`;
      };
      const id = await start("tool");
      const asleep = await vi.waitUntil(async () => {
        const { stage } = await until(id, "working");
        return stage.phase === "working" && stage.activity.kind === "sleeping" ? stage.activity : false;
      });
      expect(textOf(await settled(id))).toBe("before and after");
      expect(clock.now()).toBeGreaterThanOrEqual(asleep.until);
      expect([began, step.mock.calls.length]).toEqual([2, 1]);
    });

    it("asks several questions at once, then another, and gets the answers", async () => {
      run = async (task) => {
        const { name, age } = await task.ask({ name: form("Name?"), age: form("Age?") });
        const { sure } = await task.ask({ sure: form("Sure?") });
        return JSON.stringify([name, age, sure]);
      };
      const { start, settled, until, answer, get } = deploy([tool], kept);
      const id = await start("tool");
      const asked = await until(id, "input_required");
      expect(asked.openQuestions.map(({ key }) => key)).toEqual(["name", "age"]);
      expect(asked.lease).toBeNull();
      await answer(id, "name", { v: "Ada" });
      expect((await get(id)).openQuestions.map(({ key }) => key)).toEqual(["age"]);
      await answer(id, "age", { v: 36 });
      await vi.waitUntil(async () => (await get(id)).openQuestions[0]?.key === "sure", { timeout: 20_000 });
      await answer(id, "sure");
      expect(JSON.parse(textOf(await settled(id)))).toMatchObject([
        { action: "accept", content: { v: "Ada" } },
        { action: "accept", content: { v: 36 } },
        { action: "accept" },
      ]);
      expect(began).toBe(3);
    });

    it("answers a question with cancel that nobody answered in time", async () => {
      run = async (task) => (await task.ask({ k: form("K?") }, { timeoutMs: 2 * SECOND })).k.action;
      const { start, settled } = deploy([tool], kept);
      expect(textOf(await settled(await start("tool")))).toBe("cancel");
    });

    it("waits for a question and a sleep at once, and stores the step beside them", async () => {
      const beside = vi.fn(() => "beside");
      const { start, settled, until, answer, clock } = deploy([tool], kept);
      run = async (task) => {
        const [{ k }, step] = await Promise.all([
          task.ask({ k: form("K?") }),
          task.step("beside", beside),
          task.sleep(clock.now() + SECOND),
        ]);
        return `${k.action} ${step}`;
      };
      const id = await start("tool");
      await until(id, "input_required");
      await answer(id, "k");
      expect(textOf(await settled(id))).toBe("accept beside");
      expect(beside).toHaveBeenCalledTimes(1);
    });

    it("shows the newest progress while the run goes on", async () => {
      const { pass, open, reached } = door();
      run = async (task) => {
        for (let n = 1; n <= 100; n += 1) task.progress({ progress: n, total: 100, message: `${n} of 100` });
        await pass();
        return "done";
      };
      const { start, settled, get } = deploy([tool], kept);
      const id = await start("tool");
      await reached();
      await expect
        .poll(async () => (await get(id)).progress, { timeout: 20_000 })
        .toEqual({
          progress: 100,
          total: 100,
          message: "100 of 100",
        });
      open();
      await settled(id);
    });

    it("settles as the tool's errors say", async () => {
      const { start, settled } = deploy([tool], kept);
      run = async () => {
        throw new ToolError("That went wrong.");
      };
      const failed = await settled(await start("tool"));
      expect(failed).toMatchObject({ statusMessage: "That went wrong.", stage: { outcome: { isError: true } } });
      run = async (task) =>
        task.step("step", () => {
          throw new ProtocolError(-32000, "No more.", { why: "because" });
        });
      const error = { code: -32000, message: "No more.", data: '{"why":"because"}' };
      expect((await settled(await start("tool"))).stage).toMatchObject({ outcome: { kind: "error", error } });
    });

    it("gives up after the last attempt, and tells no exception's text", async () => {
      run = async (task) =>
        task.step("step", () => {
          throw new Error("a secret");
        });
      const { start, settled } = deploy([tool], kept, { maxAttempts: 2 });
      const task = await settled(await start("tool"));
      expect([began, task.attempts]).toEqual([2, 2]);
      expect(task.stage).toMatchObject({ outcome: { kind: "error", error: { code: -32603 } } });
      expect(JSON.stringify(task)).not.toContain("a secret");
    });

    it("ends an attempt that takes longer than the tool allows", async () => {
      const { start, settled } = deploy([brief], kept);
      run = async () => {
        await hanging.pass();
        return "late";
      };
      const message = expect.stringMatching(/ran longer than it may/);
      expect(await settled(await start("brief"))).toMatchObject({ statusMessage: message });
      run = async (task) => {
        await task.step("step", hanging.pass);
        return "late";
      };
      expect(await settled(await start("brief"))).toMatchObject({ statusMessage: message });
    });

    it("stays cancelled: while it runs, sleeps and waits for an answer", async () => {
      const { start, settled, until, tasks, clock, get } = deploy([tool], kept);
      const cancelled = { stage: { outcome: { kind: "cancelled" } } };
      const after = vi.fn(() => 1);

      const { pass, open, reached } = door();
      run = async () => {
        await pass();
        return "too late";
      };
      const running = await start("tool");
      await reached();
      await tasks.cancel(owner, running);
      open();
      expect(await settled(running)).toMatchObject(cancelled);

      run = async (task) => {
        await task.sleep(clock.now() + 2 * SECOND);
        return `${await task.step("after", after)}`;
      };
      const asleep = await start("tool");
      await vi.waitUntil(async () => JSON.stringify(await get(asleep)).includes('"sleeping"'), { timeout: 20_000 });
      await tasks.cancel(owner, asleep);

      run = async (task) => (await task.ask({ k: form("K?") })).k.action;
      const asking = await start("tool");
      await until(asking, "input_required");
      await tasks.cancel(owner, asking);
      const begun = began;

      run = async () => "another";
      expect(textOf(await settled(await start("tool")))).toBe("another");
      for (const id of [running, asleep, asking]) expect(await get(id)).toMatchObject(cancelled);
      expect([began - begun, after.mock.calls.length]).toEqual([1, 0]);
    });

    it("carries a step of 2 MiB and a result of 3 MiB", async () => {
      run = async (task) => {
        const large = await task.step("large", () => "x".repeat(2 * MEBIBYTE));
        await task.step("small", () => large.length);
        return large + "y".repeat(MEBIBYTE);
      };
      const { start, settled } = deploy([tool], kept);
      const text = textOf(await settled(await start("tool")));
      expect([text.length, text.at(0), text.at(-1)]).toEqual([3 * MEBIBYTE, "x", "y"]);
    });

    it.each([
      ["was taken away", [], /no longer served/],
      ["has changed", [changed], /has changed/],
    ])("ends a task whose tool %s between question and answer", async (_, others, why) => {
      run = async (task) => (await task.ask({ k: form("K?") })).k.action;
      const { start, settled, until, answer, redeploy } = deploy([tool], kept, { maxAttempts: 1 });
      const id = await start("tool");
      await until(id, "input_required");
      redeploy(others);
      await renew(id);
      await answer(id, "k");
      expect(await settled(id)).toMatchObject({ statusMessage: expect.stringMatching(why) as string });
      expect(began).toBe(1);
    });
  });
}
