import { describe, expect, it } from "vitest";
import { defineTool, ProtocolError, ToolError } from "../../../src/tool/define-tool";
import type { Ask, TaskContext } from "../../../src/tool/context";
import { serve, TASKS, until, withEverything, withTasks, type Served, type Wire } from "../../support/mcp";

const input = { type: "object" } as const;
const form = (key: string): Ask => ({
  kind: "form",
  message: `Value of ${key}?`,
  schema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
});

const ask = defineTool({
  name: "ask",
  description: "Asks one question for each key, all at once.",
  input: { type: "object", properties: { keys: { type: "array", items: { type: "string" } } }, required: ["keys"] },
  task: "optional",
  asks: ["form"],
  run: async (args, { ask: put }: TaskContext) =>
    JSON.stringify(await put(Object.fromEntries((args["keys"] as string[]).map((key) => [key, form(key)])))),
});
const done = defineTool({ name: "done", description: "Ends at once.", input, task: "required", run: () => "done" });
const toolError = defineTool({
  name: "tool_error",
  description: "d",
  input,
  task: "required",
  run: () => Promise.reject(new ToolError("No luck.")),
});
const rpcError = defineTool({
  name: "rpc_error",
  description: "d",
  input,
  task: "required",
  run: () => Promise.reject(new ProtocolError(12345, "Refused.", { a: [1] })),
});
const forever = defineTool({
  name: "forever",
  description: "d",
  input,
  task: "required",
  pollIntervalMs: 5,
  ttlMs: null,
  run: (_args, { progress }: TaskContext) => {
    progress({ message: "Fetched 3 of 10 pieces", progress: 3, total: 10 });
    return new Promise<string>(() => {});
  },
});
const all = [ask, done, toolError, rpcError, forever];

const options = { capabilities: withEverything };
const start = async (served: Served, name: string, args: object = {}, over: object = options): Promise<string> =>
  (await served.tool(name, args, over)).result.taskId;
const get = async (served: Served, taskId: string, over: object = options): Promise<Wire> =>
  (await served.call("tasks/get", { taskId }, over)).result;
const settled = (served: Served, taskId: string, over: object = options): Promise<Wire> =>
  until(
    () => get(served, taskId, over),
    ({ status }) => ["completed", "failed", "cancelled"].includes(status),
  );
const asking = (served: Served, taskId: string): Promise<Wire> =>
  until(
    () => get(served, taskId),
    ({ status }) => status === "input_required",
  );
const update = (served: Served, taskId: string, inputResponses: object, over: object = options): Promise<Wire> =>
  served.call("tasks/update", { taskId, inputResponses }, over);
const ACK = { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": expect.anything() } };
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe("the gate of the tasks extension", () => {
  it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "closes %s to a request that did not declare it, whatever the id (B01)",
    async (method) => {
      const served = await serve(all);
      const real = await start(served, "forever");
      for (const capabilities of [
        {},
        { tasks: {} },
        { tasks: { list: {} }, extensions: {} },
        { extensions: { [TASKS]: null } },
        { extensions: [] },
      ]) {
        for (const taskId of [real, "gate-test"]) {
          const response = await served.send(method, { taskId, inputResponses: {} }, { capabilities, id: "g" });
          expect(response.status).toBe(400);
          expect(await response.json()).toMatchObject({
            id: "g",
            error: { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
          });
        }
      }
      expect((await get(served, real)).status).toBe("working");
    },
  );

  it("does not open for the next request (B01)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "done");
    expect((await served.call("tasks/get", { taskId }, { capabilities: {} })).error.code).toBe(-32021);
  });
});

describe("a handle", () => {
  it("is flat and carries nothing of the outcome (golden)", async () => {
    const { result } = await (await serve(all)).tool("done", {}, options);
    expect(result).toEqual({
      resultType: "task",
      taskId: expect.stringMatching(/^[\w-]{43}$/),
      status: "working",
      createdAt: iso,
      lastUpdatedAt: iso,
      ttlMs: 86_400_000,
      pollIntervalMs: 1_000,
      _meta: ACK._meta,
    });
  });

  it("never advertises an interval that has clients spin, and null for no ttl", async () => {
    const { result } = await (await serve(all, { limits: { maxTtlMs: null } })).tool("forever", {}, options);
    expect(result).toMatchObject({ pollIntervalMs: 250, ttlMs: null });
  });

  it("names a task that can be read at once, a hundred times (B12)", async () => {
    const served = await serve(all);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () =>
        served.call("tasks/get", { taskId: await start(served, "done") }, options),
      ),
    );
    expect(answers.filter(({ error }) => error)).toEqual([]);
    expect(new Set(answers.map(({ result }) => result.taskId)).size).toBe(100);
  });

  it("ignores the task parameter of 2025 (B07)", async () => {
    const { result } = await (
      await serve(all)
    ).call("tools/call", { name: "done", arguments: {}, task: { ttl: "nonsense" } }, options);
    expect(result).toMatchObject({ resultType: "task", ttlMs: 86_400_000 });
  });
});

describe("tasks/get", () => {
  it("inlines the result, with a type of its own (golden)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "done");
    expect(await settled(served, taskId)).toEqual({
      resultType: "complete",
      taskId,
      status: "completed",
      createdAt: iso,
      lastUpdatedAt: iso,
      ttlMs: 86_400_000,
      pollIntervalMs: 1_000,
      result: { resultType: "complete", content: [{ type: "text", text: "done" }] },
      _meta: ACK._meta,
    });
  });

  it("calls a tool error completed", async () => {
    const served = await serve(all);
    const task = await settled(served, await start(served, "tool_error"));
    expect(task).toMatchObject({
      status: "completed",
      result: { resultType: "complete", isError: true, content: [{ text: "No luck." }] },
    });
    expect(task).not.toHaveProperty("error");
  });

  it("calls a JSON-RPC error failed, with a status message and no result", async () => {
    const served = await serve(all);
    const task = await settled(served, await start(served, "rpc_error"));
    expect(task).toMatchObject({
      status: "failed",
      statusMessage: expect.stringContaining("Refused."),
      error: { code: 12345, message: "Refused.", data: { a: [1] } },
    });
    expect(task).not.toHaveProperty("result");
  });

  it("says how far a working task is, and nothing of an outcome", async () => {
    const served = await serve(all);
    const taskId = await start(served, "forever");
    const task = await until(
      () => get(served, taskId),
      ({ statusMessage }) => statusMessage !== undefined,
    );
    expect(task).toMatchObject({
      status: "working",
      statusMessage: "Fetched 3 of 10 pieces (30%)",
      pollIntervalMs: 250,
    });
    for (const member of ["result", "error", "inputRequests", "requestState"]) expect(task).not.toHaveProperty(member);
  });

  it("lists all open questions, the same on every read (B09)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1", "k2"] });
    const first = await asking(served, taskId);
    expect(Object.keys(first.inputRequests)).toEqual(["k1", "k2"]);
    expect(first.inputRequests.k1).toEqual({
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "Value of k1?",
        requestedSchema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
      },
    });
    served.advance(5_000);
    expect((await get(served, taskId)).inputRequests).toEqual(first.inputRequests);
  });

  it("keeps a question whose key is a word of JavaScript's", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["constructor"] });
    expect(Object.keys((await asking(served, taskId)).inputRequests)).toEqual(["constructor"]);
    await update(served, taskId, { constructor: { action: "decline" } });
    expect(JSON.parse((await settled(served, taskId)).result.content[0].text)).toEqual({
      constructor: { action: "decline" },
    });
  });
});

describe("tasks that are not there", () => {
  it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "read the same to %s, byte for byte: unknown, foreign, forged, expired, misspelt",
    async (method) => {
      const served = await serve(all, { owners: ["owner-a", "owner-b"] });
      const mine = { ...options, token: "owner-a" };
      const foreign = await start(served, "done", {}, { ...options, token: "owner-b" });
      const expired = await start(served, "done", {}, mine);
      const last = expired.at(-1) === "A" ? "B" : "A";
      served.advance(90_000_000);
      const alive = await start(served, "done", {}, { ...options, token: "owner-b" });
      const ids = [
        foreign,
        expired,
        alive,
        expired.slice(0, -1) + last,
        `${expired}=`,
        "x",
        "",
        "__proto__",
        "constructor",
        "a".repeat(5_000),
      ];
      const answers = new Set<string>();
      for (const taskId of ids) {
        const response = await served.send(method, { taskId, inputResponses: {} }, mine);
        answers.add(`${response.status} ${await response.text()}`);
      }
      expect([...answers]).toEqual([
        '200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No such task, or it has expired."}}',
      ]);
      expect(
        (await served.call(method, { taskId: alive, inputResponses: {} }, { ...options, token: "owner-b" })).error,
      ).toBeUndefined();
    },
  );

  it.each([[{}], [{ taskId: 5 }], [{ taskId: null }]])("params %j are -32602", async (params) => {
    const { error } = await (await serve(all)).call("tasks/get", params, { ...options, headers: { "Mcp-Name": "x" } });
    expect(error).toMatchObject({ code: -32602, message: "params.taskId must be a string." });
  });
});

describe("tasks/update", () => {
  it("acks after the answer is in, and the task goes on (B03, golden)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1"] });
    await asking(served, taskId);
    expect((await update(served, taskId, { k1: { action: "accept", content: { v: "yes" } } })).result).toEqual(ACK);
    expect(JSON.parse((await settled(served, taskId)).result.content[0].text)).toEqual({
      k1: { action: "accept", content: { v: "yes" } },
    });
  });

  it("takes some answers and leaves the other questions, in the very next read", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1", "k2"] });
    await asking(served, taskId);
    await update(served, taskId, { k1: { action: "accept", content: { v: "1", more: true } } });
    const task = await get(served, taskId);
    expect(task.status).toBe("input_required");
    expect(Object.keys(task.inputRequests)).toEqual(["k2"]);
    await update(served, taskId, { k2: { action: "accept", content: { v: "2" } } });
    expect((await settled(served, taskId)).status).toBe("completed");
  });

  it("passes decline and cancel on as they are (B04)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1", "k2"] });
    await asking(served, taskId);
    expect((await update(served, taskId, { k1: { action: "decline" } })).result).toEqual(ACK);
    expect((await update(served, taskId, { k2: { action: "cancel", content: null } })).result).toEqual(ACK);
    expect(JSON.parse((await settled(served, taskId)).result.content[0].text)).toEqual({
      k1: { action: "decline" },
      k2: { action: "cancel" },
    });
  });

  it("acks a malformed answer and asks again under a key never used before, saying why (B04, B09)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1"] });
    await asking(served, taskId);
    const used = new Set<string>(["k1"]);
    for (const wrong of [{ action: "accept", content: { v: 5 } }, { action: "maybe" }, "yes", null]) {
      const open = Object.keys((await get(served, taskId)).inputRequests);
      expect((await update(served, taskId, { [open[0] as string]: wrong })).result).toEqual(ACK);
      const task = await get(served, taskId);
      const [key] = Object.keys(task.inputRequests) as [string];
      expect(used).not.toContain(key);
      used.add(key);
      expect(task.inputRequests[key].params.message).toContain("Value of k1?");
      expect(task.inputRequests[key].params.message).not.toBe("Value of k1?");
    }
    await update(served, taskId, { k1: { action: "accept", content: { v: "stale" } } });
    const [last] = Object.keys((await get(served, taskId)).inputRequests) as [string];
    await update(served, taskId, { [last]: { action: "accept", content: { v: "right" } } });
    expect(JSON.parse((await settled(served, taskId)).result.content[0].text)).toEqual({
      k1: { action: "accept", content: { v: "right" } },
    });
  });

  it("acks keys nobody asked, and takes them for nothing (sep-2663)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask", { keys: ["k1"] });
    const before = await asking(served, taskId);
    expect(
      (await update(served, taskId, { other: { action: "accept", content: { v: "x" } }, ["__proto__"]: 1 })).result,
    ).toEqual(ACK);
    expect(await get(served, taskId)).toEqual(before);
  });

  it("changes nothing about a settled task (B05)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "done");
    const before = await settled(served, taskId);
    expect((await update(served, taskId, { k1: { action: "accept", content: { v: "late" } } })).result).toEqual(ACK);
    expect(await get(served, taskId)).toEqual(before);
  });

  it.each([[{}], [{ inputResponses: null }], [{ inputResponses: [] }], [{ inputResponses: "x" }]])(
    "with %j is -32602",
    async (params) => {
      const served = await serve(all);
      const taskId = await start(served, "forever");
      expect((await served.call("tasks/update", { taskId, ...params }, options)).error).toMatchObject({
        code: -32602,
        message: "params.inputResponses must be an object.",
      });
    },
  );
});

describe("tasks/cancel", () => {
  it("acks, and the task is cancelled without result or error (golden)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "forever");
    expect((await served.call("tasks/cancel", { taskId }, options)).result).toEqual(ACK);
    const task = await settled(served, taskId);
    expect(task.status).toBe("cancelled");
    for (const member of ["result", "error", "inputRequests"]) expect(task).not.toHaveProperty(member);
  });

  it("acks again, and a finished task stays as it is (B06)", async () => {
    const served = await serve(all);
    const taskId = await start(served, "done");
    const before = await settled(served, taskId);
    for (let time = 0; time < 2; time += 1)
      expect((await served.call("tasks/cancel", { taskId }, options)).result).toEqual(ACK);
    expect(await get(served, taskId)).toEqual(before);
  });

  it("is not what notifications/cancelled does", async () => {
    const served = await serve(all);
    const taskId = await start(served, "forever");
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    expect(
      (
        await served.app.request("http://localhost/mcp", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body,
        })
      ).status,
    ).toBe(202);
    expect((await get(served, taskId)).status).toBe("working");
  });
});

describe("a limit that is reached", () => {
  it("is an error in 200 that names the setting", async () => {
    const served = await serve(all, { limits: { maxTasksPerOwner: 1 } });
    await start(served, "forever");
    const response = await served.send("tools/call", { name: "forever" }, { capabilities: withTasks });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      error: { code: 42900, data: { limit: "MAX_TASKS_PER_OWNER", value: 1 } },
    });
  });
});
