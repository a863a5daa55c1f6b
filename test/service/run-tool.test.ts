import { describe, expect, it, vi } from "vitest";
import { LeasedRun } from "../../src/service/leased-run";
import type { CallContext, ElicitAnswer, TaskContext } from "../../src/tool/context";
import { defineTool, ProtocolError, RefusalError, ToolError } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { limits, memoryService, movableClock, resultOf, textOf } from "../support/memory";
import { passive } from "../support/passive";

const form = (message: string) =>
  ({ kind: "form", message, schema: { type: "object", properties: { v: { type: "string" } } } }) as const;
const accept = (v: string) => JSON.stringify({ action: "accept", content: { v } });

type Parts = {
  readonly prepare?: (call: CallContext) => unknown;
  readonly run?: (task: TaskContext) => Promise<string> | string;
};

const textIn = (answer: ElicitAnswer) => (answer.action === "accept" ? answer.content?.["v"] : answer.action);

const told = (task: TaskContext): string => JSON.stringify({ prepared: task.prepared });

const toolOf = ({ prepare, run = told }: Parts) =>
  defineTool({
    name: "tool",
    description: "tool",
    input: { type: "object" },
    task: "optional",
    ...(prepare ? { prepare: (_: unknown, call: CallContext) => prepare(call) } : {}),
    run: (_, task) => run(task),
  });

/** The task of a tool that nobody prepared. */
async function begun(parts: Parts) {
  const kit = memoryService([toolOf(parts)]);
  const { id } = await kit.start("tool", {}, { unprepared: true });
  const look = () => kit.tasks.look(kit.owner, id);
  return {
    ...kit,
    look,
    asked: async (key: string) => expect.poll(async () => (await look()).openQuestions[0]?.key).toBe(key),
    answer: (key: string, v: string) => kit.tasks.answer(kit.owner, id, { [key]: accept(v) }),
    /** After as many failed attempts the pause before the next one is over. */
    failed: async (attempts: number) => {
      await expect.poll(async () => (await look()).attempts).toBe(attempts);
      kit.clock.advance(200_000);
      await kit.store.sweep(100);
    },
    settled: async () => {
      await expect.poll(async () => (await look()).stage.phase).toBe("settled");
      return look();
    },
  };
}

describe("a tool that nobody prepared before its task", () => {
  it("is prepared in its first run and no other, and has what was found in all", async () => {
    const prepare = vi.fn(() => ({ price: 7 }));
    const run = async (task: TaskContext) => {
      await task.ask({ k: form("K?") });
      return told(task);
    };
    const { asked, answer, settled } = await begun({ prepare, run });
    await asked("k");
    await answer("k", "yes");
    expect(textOf(await settled())).toBe('{"prepared":{"price":7}}');
    expect(prepare).toHaveBeenCalledTimes(1);
  });

  it("is prepared again where preparing failed, and not where its run did", async () => {
    const broken = () => {
      throw new Error("The shop is closed.");
    };
    const prepare = vi.fn(() => 1).mockImplementationOnce(broken);
    const run = vi.fn(told).mockImplementationOnce(broken);
    const { failed, settled } = await begun({ prepare, run });
    await failed(1);
    await vi.waitUntil(() => run.mock.calls.length === 1);
    await failed(1);
    expect(textOf(await settled())).toBe('{"prepared":1}');
    expect([prepare.mock.calls.length, run.mock.calls.length]).toEqual([2, 2]);
  });

  it("may ask while it is prepared, and gets to know the answer once", async () => {
    const prepare = vi.fn(async ({ ask }: CallContext) => {
      const { name } = await ask({ name: form("Who?") });
      const { place } = await ask({ place: form("Where?") });
      return [name, place];
    });
    const { asked, answer, settled } = await begun({ prepare });
    await asked("name");
    await answer("name", "Ada");
    await asked("place");
    await answer("place", "home");
    expect(JSON.parse(textOf(await settled()))).toEqual({
      prepared: [
        { action: "accept", content: { v: "Ada" } },
        { action: "accept", content: { v: "home" } },
      ],
    });
    expect(prepare).toHaveBeenCalledTimes(3);
  });

  it("takes no answer to what was asked while it was prepared for one to what its run asks", async () => {
    const run = async (task: TaskContext) => {
      const { sure } = await task.ask({ sure: form("Sure?") });
      return JSON.stringify([task.prepared, textIn(sure)]);
    };
    const prepare = async ({ ask }: CallContext) => textIn((await ask({ sure: form("Sure?") })).sure);
    const { asked, answer, settled } = await begun({ prepare, run });
    await asked("sure");
    await answer("sure", "to look");
    await asked("sure-2");
    await answer("sure-2", "to buy");
    expect(textOf(await settled())).toBe('["to look","to buy"]');
  });

  it("has no more to prepare with than before a task", async () => {
    const { settled } = await begun({ prepare: (call) => Object.keys(call).sort() });
    expect(textOf(await settled())).toBe('{"prepared":["ask","client","fetch","signal"]}');
  });

  it("has nothing prepared where nothing was found, and keeps null apart from that", async () => {
    expect(textOf(await (await begun({ prepare: () => undefined })).settled())).toBe("{}");
    expect(textOf(await (await begun({ prepare: () => null })).settled())).toBe('{"prepared":null}');
    expect(textOf(await (await begun({})).settled())).toBe("{}");
  });

  it("may name a step of its own as it likes", async () => {
    const run = async (task: TaskContext) => JSON.stringify([task.prepared, await task.step("prepared", () => 2)]);
    expect(textOf(await (await begun({ prepare: () => 1, run })).settled())).toBe("[1,2]");
  });

  it("may refuse while it is prepared: the task is rejected with the reason, and is not tried again", async () => {
    const prepare = vi.fn(() => {
      throw new RefusalError("We sell nothing on Sundays.");
    });
    const run = vi.fn(told);
    const { settled } = await begun({ prepare, run });
    expect(await settled()).toMatchObject({
      statusMessage: "We sell nothing on Sundays.",
      stage: { outcome: { kind: "rejected", reason: "We sell nothing on Sundays." } },
      attempts: 0,
    });
    expect([prepare.mock.calls.length, run.mock.calls.length]).toEqual([1, 0]);
  });

  it("may fail while it is prepared in every way in which a run may", async () => {
    const thrown = (error: Error) =>
      begun({
        prepare: () => {
          throw error;
        },
      }).then(({ settled }) => settled());
    expect(resultOf(await thrown(new ToolError("Sold out.")))).toMatchObject({ isError: true });
    expect((await thrown(new ProtocolError(7, "Not now."))).stage).toMatchObject({
      outcome: { kind: "error", error: { code: 7, message: "Not now." } },
    });
  });

  it("is told when it keeps a question it asked while it was prepared to itself", async () => {
    const prepare = ({ ask }: CallContext) => ask({ k: form("K?") }).catch(() => "nobody answered");
    const { settled } = await begun({ prepare });
    expect((await settled()).statusMessage).toMatch(/caught the suspension/);
  });
});

describe("a tool that was prepared before its task", () => {
  it("is not prepared again in it", async () => {
    const prepare = vi.fn(() => "again");
    const { start, rest } = memoryService([toolOf({ prepare })]);
    expect(textOf(await rest((await start("tool", {}, { prepared: "before" })).id))).toBe('{"prepared":"before"}');
    expect(prepare).not.toHaveBeenCalled();
  });
});

describe("a tool that refuses in its run", () => {
  it("has its task rejected with the reason, however many attempts there are", async () => {
    const run = vi.fn(() => {
      throw new RefusalError("That is against the rules.");
    });
    const { settled } = await begun({ run });
    expect(await settled()).toMatchObject({
      stage: { outcome: { kind: "rejected", reason: "That is against the rules." } },
    });
    expect(run).toHaveBeenCalledTimes(1);
  });
});

describe("arguments that were asked for", () => {
  it("are held against the tool's schema like any others, and the tool does not run where they do not fit", async () => {
    const run = vi.fn(() => "done");
    const input = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    const kit = memoryService([
      defineTool({
        name: "tool",
        description: "tool",
        input,
        task: "optional",
        run,
        check: ({ n }) => (n < 9 ? undefined : "n must be below 9."),
      }),
    ]);
    const requestedSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const request = { method: "elicitation/create", params: { mode: "form", message: "n?", requestedSchema } } as const;
    const missing = { authorKey: "tool-arguments", occurrence: 1, request, deadline: kit.clock.now() + 60_000 };
    const answered = async (n: number) => {
      const { id } = await kit.start("tool", {}, { missing });
      await kit.tasks.answer(kit.owner, id, { "tool-arguments": JSON.stringify({ action: "accept", content: { n } }) });
      await expect.poll(async () => (await kit.tasks.look(kit.owner, id)).stage.phase).toBe("settled");
      return kit.tasks.look(kit.owner, id);
    };
    expect((await answered(9)).statusMessage).toBe(
      "The task's arguments do not fit the tool: arguments: n must be below 9.",
    );
    expect(run).not.toHaveBeenCalled();
    expect(textOf(await answered(8))).toBe("done");
    expect(run).toHaveBeenCalledTimes(1);
  });
});

describe("a run under a lease", () => {
  it("prepares the tool too, once, and keeps that as it keeps a step", async () => {
    const clock = movableClock();
    const { store, add, get } = passive(clock.now);
    const { id } = add({ tool: "tool", runs: { in: "workflow" }, unprepared: true });
    const until = clock.now() + 60_000;
    const steps: string[] = [];
    const prepare = vi.fn(() => 1);
    const run = async (task: TaskContext) => {
      await task.step("a", () => 2);
      await task.sleep(until);
      return told(task);
    };
    const next = async (lease: string) => {
      const leased = new LeasedRun({
        work: (act) => store.work(id, act),
        lease: { id: lease, worker: "workflow", ms: 30_000 },
        registry: createRegistry([toolOf({ prepare, run })]),
        limits,
        clock: clock.now,
        random: () => 0.5,
        fetch: () => Promise.reject(new Error("This test fetches nothing.")),
        log: () => {},
        step: (key, _, work) => {
          steps.push(key);
          return work();
        },
        asking: async () => {},
      });
      expect(await leased.claim()).toBe(true);
      await leased.perform();
    };
    await next("first");
    expect(get(id).stage).toMatchObject({ activity: { kind: "sleeping" } });
    clock.advance(60_000);
    await next("second");
    const { stage } = get(id);
    const result =
      stage.phase === "settled" && stage.outcome.kind === "result" ? JSON.parse(stage.outcome.result) : stage;
    expect(result).toEqual({ content: [{ type: "text", text: '{"prepared":1}' }] });
    expect(steps).toEqual([expect.stringContaining("prepared"), "a"]);
    expect(prepare).toHaveBeenCalledTimes(1);
  });
});
