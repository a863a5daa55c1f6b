// `createHoldfast({ store })`: the whole deployment over a store of one's own.
import { createExecutionContext, createScheduledController, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { IdleRunner } from "../../durable-objects/idle-runner";
import { runner } from "../../durable-objects/runner";
import { createHoldfast } from "../../src/holdfast";
import type { TaskStore } from "../../src/service/task-store";
import { defineTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { limits, movableClock } from "../support/memory";
import { envelope, headersFor, only, withEverything, type Wire } from "../support/mcp";
import { emptyD1, objects } from "./d1";

const tools = [
  defineTool({
    name: "greet",
    description: "Asks for a name and greets.",
    input: { type: "object" },
    task: "required",
    asks: ["form"],
    run: async (_, task) => {
      const schema = { type: "object", properties: { v: { type: "string" } }, required: ["v"] };
      const { name } = await task.ask({ name: { kind: "form", message: "Name?", schema } });
      return `Hello, ${name.action === "accept" ? String(name.content?.["v"]) : "stranger"}!`;
    },
  }),
];

async function deployment() {
  const clock = movableClock();
  const { store } = await emptyD1({ registry: createRegistry(tools), limits, clock: clock.now });
  const { handler } = createHoldfast({ tools, store, runner, clock: clock.now });
  const call = async (method: string, params: Wire): Promise<Wire> => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: envelope(withEverything) },
    });
    const request = new Request("http://localhost/mcp", { method: "POST", headers: headersFor(method, params), body });
    return only(await handler.fetch(request, objects, createExecutionContext()));
  };
  const inStatus = (taskId: string, status: string): Promise<Wire> =>
    vi.waitUntil(
      async () => {
        const { result } = await call("tasks/get", { taskId });
        return result?.status === status ? result : false;
      },
      { timeout: 10_000, interval: 100 },
    );
  const cron = () => handler.scheduled(createScheduledController(), objects);
  const start = async (): Promise<string> => (await call("tools/call", { name: "greet", arguments: {} })).result.taskId;
  return { store, clock, call, start, inStatus, cron };
}

describe("a store of one's own", () => {
  it("is used as the very object that was handed over, and its tasks run without the cron (T8)", async () => {
    const { store, call, start, inStatus } = await deployment();
    const create = vi.spyOn(store, "create");
    const taskId = await start();
    expect(create.mock.contexts).toEqual([store]);
    expect(create.mock.contexts[0]).toBe(store);
    await inStatus(taskId, "input_required");
    await call("tasks/update", { taskId, inputResponses: { name: { action: "accept", content: { v: "Ada" } } } });
    expect((await inStatus(taskId, "completed")).result.content[0].text).toBe("Hello, Ada!");
  });

  it("has its tasks set going again by the cron when whoever ran them is gone for good", async () => {
    const { clock, start, inStatus, cron } = await deployment();
    const taskId = await start();
    await inStatus(taskId, "input_required");
    await runInDurableObject(objects.RUNNERS.getByName(taskId), (_, { storage }) => storage.deleteAll());
    // Nobody answers in time.
    clock.advance(limits.questionTtlMs + 1_000);
    await cron();
    expect((await inStatus(taskId, "completed")).result.content[0].text).toBe("Hello, stranger!");
  });

  it.each(["durable", 7, {}, new Map()])("is refused when it is %j, before any request", (store) => {
    expect(() => createHoldfast({ tools, store: store as TaskStore })).toThrow(/TaskStore/);
  });

  it("is refused when it only keeps tasks and nothing would run them", async () => {
    const { store } = await deployment();
    expect(() => createHoldfast({ tools, store })).toThrow(
      "give createHoldfast the runner of durable-objects/runner.ts",
    );
    // In the place of the runner it has an object that does nothing.
    expect(createHoldfast({ tools }).RunnerObject).toBe(IdleRunner);
  });
});
