import { describe, expect, it, vi } from "vitest";
import { helperTools, type HelperExchange } from "../../src/mcp/helper-tools";
import { createSealer } from "../../src/seal";
import type { Principal } from "../../src/service/principal";
import type { TaskContext } from "../../src/tool/context";
import { HELPER_TOOLS } from "../../src/tool/declaration";
import { defineTool, ProtocolError, type ToolResult } from "../../src/tool/define-tool";
import type { Config } from "../../src/env";
import type { JsonObject } from "../../src/task/json";
import { memoryService, someone } from "../support/memory";

const anonymous: Principal = { kind: "anonymous" };
const NOT_FOUND = "No such task, or it has expired.";
/** Nobody's, though well formed. */
const STRANGER = "A".repeat(43);

const yes = {
  kind: "form",
  message: "Publish it?",
  schema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
} as const;

function helped(run: (task: TaskContext, args: JsonObject) => unknown, inlineWaitMs = 60_000) {
  const tool = defineTool({
    name: "t",
    description: "t",
    input: { type: "object" },
    task: "optional",
    run: (args, task) => run(task, args as JsonObject) as never,
  });
  const service = memoryService([tool], { maxAttempts: 1 });
  const { tasks, owner, clock } = service;
  const deps = {
    tasks,
    config: { inlineWaitMs } as Config,
    sealer: createSealer(async () => "a secret for tests, thirty-two bytes", clock.now),
    clock: clock.now,
  };
  return {
    ...service,
    names: (principal: Principal) => helperTools(deps, principal).map(({ name }) => name),
    list: helperTools(deps, owner),
    async call(name: string, args: object, principal: Principal = owner, exchange: Partial<HelperExchange> = {}) {
      const helper = helperTools(deps, principal).find((known) => known.name === name);
      if (!helper) throw new Error(`${name} is not there`);
      return helper.call(args as JsonObject, { signal: new AbortController().signal, ...exchange });
    },
  };
}

const textOf = ({ content: [block] }: ToolResult): string => String(block?.["text"]);
const statusOf = ({ _meta }: ToolResult): unknown => _meta?.["dev.holdfast/task"];

describe("the helper tools", () => {
  it("are those whose names no other tool may have; an anonymous caller has no list", () => {
    const { names, owner } = helped(() => "done");
    expect(names(owner)).toEqual(HELPER_TOOLS);
    expect(names(anonymous)).toEqual(HELPER_TOOLS.filter((name) => name !== "task_list"));
  });

  it.each<[string, object, string]>([
    ["task_result", {}, "taskId"],
    ["task_result", { taskId: 5 }, "taskId"],
    ["task_result", { taskId: "x", waitMs: -1 }, "waitMs"],
    ["task_answer", { taskId: "x" }, "answers"],
    ["task_answer", { taskId: "x", answers: { a: "yes" } }, "answers.a"],
    ["task_cancel", {}, "taskId"],
    ["task_list", { cursor: 5 }, "cursor"],
  ])("%s with %j says what is wrong to the model", async (name, args, field) => {
    const result = await helped(() => "done").call(name, args);
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining(field)]);
  });

  it.each(["task_result", "task_answer", "task_cancel"])(
    "%s says the same about what is missing, mistyped, somebody else's or expired",
    async (name) => {
      const { start, call, owner, clock } = helped((task) => task.ask({ yes }));
      const { id } = await start("t");
      const answers = {};
      const said = async (taskId: string, principal: Principal) =>
        JSON.stringify(await call(name, { taskId, answers }, principal));
      const missing = await said(STRANGER, owner);
      expect(missing).toContain(NOT_FOUND);
      expect(await said("nonsense", owner)).toBe(missing);
      expect(await said(id, someone("b"))).toBe(missing);
      expect(await said(id, anonymous)).toBe(missing);
      clock.advance(10 * 86_400_000);
      expect(await said(id, owner)).toBe(missing);
    },
  );
});

describe("task_result", () => {
  it("waits on the server, and gives what the tool returned, unchanged", async () => {
    let finish = (_: unknown): void => {};
    const { start, call } = helped(() => new Promise((resolve) => (finish = resolve)));
    const { id } = await start("t");
    const waiting = call("task_result", { taskId: id });
    const whole = {
      content: [{ type: "text", text: "no" }],
      isError: true,
      structuredContent: [1],
      _meta: { "x/y": 1 },
    };
    await new Promise((resolve) => setTimeout(resolve, 0));
    finish(whole);
    expect(await waiting).toEqual(whole);
  });

  it("says after its wait that the task still runs, how far it is, and what to call", async () => {
    const { start, call } = helped(({ progress }) => {
      progress({ message: "Rendering", progress: 1, total: 4 });
      return new Promise(() => {});
    });
    const { id } = await start("t");
    const heard: unknown[] = [];
    const onProgress = (progress: unknown): void => void heard.push(progress);
    const result = await vi.waitUntil(async () => {
      const answer = await call("task_result", { taskId: id, waitMs: 5 }, undefined, { onProgress });
      return textOf(answer).includes("Rendering (25%)") && answer;
    });
    expect(heard).toEqual([{ message: "Rendering", progress: 1, total: 4 }]);
    expect(result).not.toHaveProperty("isError");
    expect(textOf(result)).toContain(`task_result with {"taskId":"${id}"}`);
    expect(statusOf(result)).toEqual({ taskId: id, status: "working" });
  });

  it("waits no longer than a call may be held, whatever it is told", async () => {
    const { start, call } = helped(() => new Promise(() => {}), 1);
    const { id } = await start("t");
    expect(statusOf(await call("task_result", { taskId: id, waitMs: 1_000_000 }))).toEqual({
      taskId: id,
      status: "working",
    });
  });

  it.each<[string, (task: TaskContext) => unknown, string]>([
    ["a protocol error", () => Promise.reject(new ProtocolError(777, "Not today.")), "Not today."],
    ["an accident, in nobody's words", () => Promise.reject(new Error("secret")), "failed"],
  ])("tells of %s as a tool error", async (_, run, text) => {
    const { start, call } = helped(run);
    const { id } = await start("t");
    const result = await call("task_result", { taskId: id });
    expect([result.isError, statusOf(result)]).toEqual([true, { taskId: id, status: "failed" }]);
    expect(textOf(result)).toContain(text);
    expect(textOf(result)).not.toContain("secret");
  });

  it("tells the caller that may do better when all there is to say is a question", async () => {
    const { start, call } = helped((task) => task.ask({ yes }));
    const { id } = await start("t");
    const asking: string[] = [];
    const result = await call("task_result", { taskId: id }, undefined, { onAsking: (task) => asking.push(task.id) });
    expect(asking).toEqual([id]);
    expect(statusOf(result)).toEqual({ taskId: id, status: "input_required" });
  });
});

describe("task_answer", () => {
  it("answers what a task asks, and the result is there to fetch", async () => {
    const { start, call } = helped(async (task) => JSON.stringify((await task.ask({ yes })).yes));
    const { id } = await start("t");
    const question = textOf(await call("task_result", { taskId: id }));
    expect(question).toContain("Publish it?");
    expect(question).toContain(JSON.stringify(yes.schema));
    expect(question).toContain(
      `task_answer with ${JSON.stringify({ taskId: id, answers: { yes: { action: "accept", content: {} } } })}`,
    );
    const answer = { action: "accept", content: { yes: true } };
    const told = await call("task_answer", { taskId: id, answers: { yes: answer } });
    expect(textOf(told)).toContain("Nothing is left to answer.");
    expect(textOf(await call("task_result", { taskId: id }))).toBe(JSON.stringify(answer));
  });

  it("says what is still open, what was wrong with an answer, and what was not asked", async () => {
    const { start, call, rest } = helped((task) => task.ask({ yes, no: { ...yes, message: "Delete it?" } }));
    const { id } = await start("t");
    await rest(id);
    const answers = { yes: { action: "accept", content: { yes: "perhaps" } }, maybe: { action: "decline" } };
    const told = await call("task_answer", { taskId: id, answers });
    expect(statusOf(told)).toEqual({ taskId: id, status: "input_required" });
    expect(textOf(told)).toContain('Not asked, or answered before: "maybe".');
    expect(textOf(told)).toMatch(
      /Question "yes-2".+Publish it\?\n\nThe last answer could not be used: .*content\.yes/s,
    );
    expect(textOf(told)).toContain("Delete it?");
  });

  it("names the address to open, and what a model or a client is asked for", async () => {
    const { start, call } = helped((task) =>
      task.ask({
        sign: { kind: "url", message: "Sign in.", url: "https://sign.example/in" },
        text: { kind: "sampling", params: { messages: [], maxTokens: 7 } },
        where: { kind: "roots" },
      }),
    );
    const { id } = await start("t");
    const question = textOf(await call("task_result", { taskId: id }));
    for (const part of ["Sign in.", "https://sign.example/in", '"maxTokens":7', "file://"])
      expect(question).toContain(part);
    const [, example = ""] = /task_answer with (.+), then/.exec(question) ?? [];
    // What the text gives for an example is taken as it stands.
    expect(textOf(await call("task_answer", JSON.parse(example) as object))).toContain("Nothing is left to answer.");
  });

  it("is too late for a task that has ended", async () => {
    const { start, call, rest } = helped(() => "done");
    const { id } = await start("t");
    await rest(id);
    expect(textOf(await call("task_answer", { taskId: id, answers: {} }))).toContain("had ended before");
  });
});

describe("task_cancel", () => {
  it("stops the work for good, once", async () => {
    let stopped = false;
    const { start, call, tasks, owner } = helped(
      ({ signal }) => new Promise(() => signal.addEventListener("abort", () => (stopped = true))),
    );
    const { id } = await start("t");
    await vi.waitUntil(async () => (await tasks.get(owner, id)).stage.phase === "working");
    expect(statusOf(await call("task_cancel", { taskId: id }))).toEqual({ taskId: id, status: "cancelled" });
    expect(stopped).toBe(true);
    const result = await call("task_result", { taskId: id });
    expect([result.isError, textOf(result)]).toEqual([true, "The task was cancelled."]);
    expect(textOf(await call("task_cancel", { taskId: id }))).toContain("had ended before");
  });
});

describe("task_list", () => {
  it("lists one's own, newest first, with where each stands and how old it is", async () => {
    const { start, call, rest, clock } = helped((task, { ask }) => (ask ? task.ask({ yes }) : "done"));
    const { id: first } = await start("t");
    await rest(first);
    clock.advance(3 * 3_600_000);
    const { id: second } = await start("t", { ask: true });
    await rest(second);
    clock.advance(5 * 60_000);
    const text = textOf(await call("task_list", {}));
    expect(text).toBe(`${second} t: input_required, begun 5 min ago\n${first} t: completed, begun 3 h ago`);
    expect(textOf(await call("task_list", {}, someone("b")))).toBe("No tasks.");
  });

  it("goes on where a page ended, for the caller who got the cursor and nobody else", async () => {
    const { start, call, clock } = helped(() => "done");
    const made: string[] = [];
    for (let n = 0; n < 51; n += 1) {
      made.unshift((await start("t")).id);
      clock.advance(1);
    }
    const first = textOf(await call("task_list", {}));
    const [, args = "{}"] = /^More: task_list with (.+)\.$/m.exec(first) ?? [];
    const { cursor } = JSON.parse(args) as { cursor: string };
    const rest = textOf(await call("task_list", { cursor }));
    const ids = [...`${first}\n${rest}`.matchAll(/^(\S+) t:/gm)].map(([, id]) => id);
    expect(ids).toEqual(made);
    expect(rest).not.toContain("More:");
    for (const [principal, token] of [
      [someone("b"), cursor],
      [someone("a"), `${cursor}x`],
      [someone("a"), ""],
    ] as const) {
      expect(await call("task_list", { cursor: token }, principal)).toMatchObject({ isError: true });
    }
  });
});
