import { describe, expect, it, vi } from "vitest";
import type { TaskStore } from "../../src/service/task-store";
import { defineTool, RefusalError, type TaskSupport } from "../../src/tool/define-tool";
import { connect } from "../support/legacy";
import { serve, until, withTasks, type Wire } from "../support/mcp";

const REASON = "We ship nothing to that country.";
const refusal = { code: -32603, message: REASON };
const refuse = (): never => {
  throw new RefusalError(REASON);
};
const own = { token: "a" };

/** One that refuses before there is a task, and one that does so in its run. */
function refusing(task: TaskSupport) {
  const run = vi.fn(() => "done");
  const facts = { description: "ships", input: { type: "object" }, task } as const;
  const tools = [
    defineTool({ ...facts, name: "at-once", prepare: refuse, run }),
    defineTool({ ...facts, name: "in-its-run", run: refuse }),
  ];
  return { tools, run };
}

async function setUp(task: TaskSupport) {
  const { tools, run } = refusing(task);
  const create = vi.fn();
  const storeFor = (store: TaskStore): TaskStore =>
    new Proxy(store, {
      get: (target, name: keyof TaskStore) =>
        name === "create"
          ? (...draft: Parameters<TaskStore["create"]>) => {
              create();
              return target.create(...draft);
            }
          : (target[name] as (...args: never[]) => unknown).bind(target),
    });
  const served = await serve(tools, { owners: ["a"], storeFor });
  return { served, run, create };
}

describe("a tool that refuses before its task exists", () => {
  it.each([
    ["as a task", "optional", withTasks],
    ["as a task only", "required", withTasks],
    ["in a call that is waited for", "optional", {}],
    ["in a plain call", "forbidden", {}],
  ] as const)("answers 2026-07-28 with its reason, %s, and nothing is stored", async (_, task, capabilities) => {
    const { served, run, create } = await setUp(task);
    const response = await served.send("tools/call", { name: "at-once", arguments: {} }, { ...own, capabilities });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 1, error: refusal });
    expect(create).not.toHaveBeenCalled();
    expect(run).not.toHaveBeenCalled();
    expect((await (await connect(served, own)).call("tasks/list")).result.tasks).toEqual([]);
  });

  it("answers 2025-11-25 with its reason where a task was asked for, and nothing is stored", async () => {
    const { served, run, create } = await setUp("optional");
    const client = await connect(served, own);
    expect((await client.tool("at-once", {}, { task: {} })).error).toEqual(refusal);
    expect(create).not.toHaveBeenCalled();
    expect(run).not.toHaveBeenCalled();
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
  });

  it.each([
    ["2025-11-25", "optional"],
    ["2025-11-25", "forbidden"],
    ["2025-06-18", "required"],
    ["2025-03-26", "optional"],
    ["2025-03-26", "forbidden"],
  ] as const)("answers a call on %s of a tool with task %s in the same way", async (version, task) => {
    const { served, create } = await setUp(task);
    expect((await (await connect(served, { ...own, version })).tool("at-once")).error).toEqual(refusal);
    expect(create).not.toHaveBeenCalled();
  });

  it("is no accident that an operator has to look into", async () => {
    const { served } = await setUp("forbidden");
    await served.tool("at-once", {}, own);
    await served.tool("in-its-run", {}, own);
    expect(JSON.stringify(served.log)).not.toContain("The tool failed.");
  });
});

describe("a tool that refuses in its run", () => {
  it("leaves a failed task with its reason on 2026-07-28", async () => {
    const { served } = await setUp("optional");
    const options = { ...own, capabilities: withTasks };
    const { taskId } = (await served.tool("in-its-run", {}, options)).result as Wire;
    const get = async (): Promise<Wire> => (await served.call("tasks/get", { taskId }, options)).result;
    const failed = await until(get, ({ status }) => status !== "working");
    expect(failed).toMatchObject({ status: "failed", statusMessage: REASON, error: refusal });
    expect(failed).not.toHaveProperty("result");
  });

  it("leaves a failed task with its reason on 2025-11-25, whose result is that error", async () => {
    const { served } = await setUp("optional");
    const client = await connect(served, own);
    const { taskId } = await client.task("in-its-run");
    expect(await client.poll(taskId, "failed")).toMatchObject({ statusMessage: REASON });
    expect((await client.call("tasks/result", { taskId })).error).toMatchObject(refusal);
  });

  it.each([
    ["waited for", "optional"],
    ["plain", "forbidden"],
  ] as const)("answers a call that is %s with its reason, on every revision", async (_, task) => {
    const { served } = await setUp(task);
    expect((await served.tool("in-its-run", {}, own)).error).toEqual(refusal);
    for (const version of ["2025-11-25", "2025-06-18", "2025-03-26"]) {
      expect((await (await connect(served, { ...own, version })).tool("in-its-run")).error).toEqual(refusal);
    }
  });
});
