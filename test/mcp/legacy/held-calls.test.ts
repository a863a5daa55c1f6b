import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect, isStream } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

const versions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
const forms = { elicitation: {} };
const TASK = "dev.holdfast/task";

describe("a call of a tool that may be a task, by a client that asks for none", () => {
  it.each(versions)("(A15) gets the result itself on %s", async (version) => {
    const client = await connect(await serve(fixtureTools), { version });
    const { result } = await client.tool("slow", { ms: 30, text: "sync" });
    expect(result).toEqual({ content: [{ type: "text", text: "sync" }] });
  });

  it("(T4) is answered in a stream where it takes its time, headers and heartbeat first", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long" }, { id: 9 });
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
    open();
    await stream.closed;
    expect(stream.comments.length).toBeGreaterThan(0);
    expect(stream.messages).toEqual([
      { jsonrpc: "2.0", id: 9, result: { content: [{ type: "text", text: "through" }] } },
    ]);
  });

  it.each(["2025-06-18", "2025-03-26"])(
    "runs what only runs as a task on %s too: there is no other way",
    async (version) => {
      const client = await connect(await serve(fixtureTools), { version });
      expect((await client.tool("must", { ms: 10 })).result.content[0].text).toBe("done");
    },
  );

  it("(M3) ignores params.task where there are no tasks, whatever it is", async () => {
    for (const version of ["2025-06-18", "2025-03-26"]) {
      const client = await connect(await serve(fixtureTools), { version });
      for (const task of [{ ttl: 1_000 }, "yes", null]) {
        const { result } = await client.tool("greet", { name: "you" }, { task });
        expect(result.content[0].text).toBe("Hello, you!");
        expect((await client.tool("slow", { ms: 0, text: "sync" }, { task })).result.content[0].text).toBe("sync");
      }
    }
  });

  it("(W05) ends as the tool ended", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.tool("slow", { ms: 0, text: "no", isError: true })).result).toEqual({
      content: [{ type: "text", text: "no" }],
      isError: true,
    });
    expect((await client.tool("slow", { ms: 0, text: "no", rpcError: true })).error).toMatchObject({
      code: -32000,
      message: "no",
    });
  });

  it("reports progress under the call's token, and only while it is open", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long", _meta: { progressToken: 0 } });
    const { params } = await stream.notification("notifications/progress");
    expect(params).toEqual({ progressToken: 0, progress: 0.5, total: 1 });
    await began;
    open();
    await stream.closed;
    expect(stream.messages.at(-1).result.content).toHaveLength(1);
  });
});

describe("a call that outlives its wait", () => {
  it.each(versions)("is answered on %s with what the model can do about it", async (version) => {
    const { tool, open } = gate("long", "optional");
    const client = await connect(await serve([tool], { config: { inlineWaitMs: 30 } }), { version });
    const { result } = await client.tool("long");
    const { taskId, status } = result._meta[TASK];
    expect(status).toBe("working");
    expect(result.content[0].text).toContain(taskId);
    expect(result.content[0].text).toContain("task_result");
    open();
    expect((await client.tool("task_result", { taskId })).result.content[0].text).toBe("through");
  });

  it("is found again by its key in the same session, by an anonymous caller too", async () => {
    const { tool, runs, open } = gate("long", "optional");
    const served = await serve([tool], { config: { inlineWaitMs: 30 } });
    const client = await connect(served);
    const params = { name: "long", arguments: {} };
    const keyed = { headers: { "Idempotency-Key": "k1" } };
    const ids = [];
    for (let n = 0; n < 2; n += 1) ids.push((await client.call("tools/call", params, keyed)).result._meta[TASK].taskId);
    expect(ids[0]).toBe(ids[1]);
    const other = await client.call("tools/call", { ...params, arguments: { note: "x" } }, keyed);
    expect(other.error.code).toBe(40900);
    const elsewhere = await (await client.again()).call("tools/call", params, keyed);
    expect(elsewhere.result._meta[TASK].taskId).not.toBe(ids[0]);
    open();
    expect((await client.call("tools/call", params, keyed)).result.content[0].text).toBe("through");
    expect(runs()).toBe(2);
  });

  it("goes on when its client left, and its owner finds it by its key from another session", async () => {
    const { tool, began, runs, open } = gate("long", "optional");
    const client = await connect(await serve([tool], { owners: ["a"] }), { token: "a" });
    const params = { name: "long", _meta: { "dev.holdfast/idempotencyKey": "k1" } };
    const stream = await client.open("tools/call", params);
    await began;
    await stream.leave();
    open();
    const again = await (await client.again()).call("tools/call", params);
    expect(again.result.content[0].text).toBe("through");
    expect(runs()).toBe(1);
  });

  it("goes on when the client withdrew its request: that may have been its time limit", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await connect(await serve([tool], { owners: ["a"] }), { token: "a" });
    const stream = await client.open("tools/call", { name: "long" }, { id: "c1" });
    await began;
    await client.notify("notifications/cancelled", { requestId: "c1" });
    await stream.leave();
    open();
    const list = (await client.tool("task_list")).result.content[0].text;
    const taskId = /[\w-]{43}/.exec(list)?.[0];
    expect((await client.tool("task_result", { taskId })).result.content[0].text).toBe("through");
  });
});

describe("a question of a held call", () => {
  it.each(["2025-11-25", "2025-06-18"])(
    "goes out on its stream on %s, and the answer goes on with it",
    async (version) => {
      const client = await connect(await serve(fixtureTools), { version, capabilities: forms });
      const stream = await client.open("tools/call", { name: "ask", arguments: { keys: ["k1"] } });
      const question = await stream.request();
      expect(question).toMatchObject({ method: "elicitation/create", params: { message: "What is k1?" } });
      // It is no task to this client, and libraries refuse what names a task they do not know.
      expect(question.params).not.toHaveProperty("_meta");
      await client.answer(question, { action: "accept", content: { v: "yes" } });
      await stream.closed;
      expect(stream.messages.at(-1).result.content[0].text).toContain('"yes"');
    },
  );

  it.each<[string, object]>([
    ["2025-11-25", {}],
    ["2025-03-26", { elicitation: {} }],
  ])("is the model's to pass on, at once, where %s was told %j", async (version, capabilities) => {
    const client = await connect(await serve(fixtureTools), { version, capabilities });
    const { result } = await client.tool("ask", { keys: ["k1"] });
    const { taskId, status } = result._meta[TASK];
    expect(status).toBe("input_required");
    expect(result.content[0].text).toMatch(/What is k1\?.*task_answer/s);
    await client.tool("task_answer", { taskId, answers: { k1: { action: "accept", content: { v: "told" } } } });
    expect((await client.tool("task_result", { taskId })).result.content[0].text).toContain("told");
  });

  it("is the model's too where the client takes no stream", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: forms });
    const params = { name: "ask", arguments: { keys: ["k1"] } };
    const { result } = await client.call("tools/call", params, { headers: { Accept: "application/json" } });
    expect(result._meta[TASK].status).toBe("input_required");
  });

  it("goes out on the stream of task_result, where the call itself has ended", async () => {
    const served = await serve(fixtureTools, { config: { inlineWaitMs: 10_000 } });
    const deaf = await connect(served);
    const { taskId } = (await deaf.tool("ask", { keys: ["k1"] })).result._meta[TASK];
    const client = await connect(served, { capabilities: forms });
    const stream = await client.open("tools/call", { name: "task_result", arguments: { taskId } });
    await client.answer(await stream.request(), { action: "accept", content: { v: "late" } });
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain("late");
  });

  it("may come before there is a task", async () => {
    const prepares = defineTool({
      name: "prepares",
      description: "Asks first.",
      input: z.object({}),
      task: "optional",
      asks: ["form"],
      prepare: async (_, call) => {
        const schema = { type: "object", properties: { n: { type: "string" } } };
        return (await call.ask({ q: { kind: "form", message: "Name?", schema } })).q;
      },
      run: (_, task) => JSON.stringify(task.prepared),
    });
    const client = await connect(await serve([prepares]), { capabilities: forms });
    const stream = await client.open("tools/call", { name: "prepares" });
    await client.answer(await stream.request(), { action: "accept", content: { n: "Ann" } });
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain("Ann");
  });
});

describe("the helper tools", () => {
  const names = (tools: Wire[]): string[] => tools.map(({ name }) => name).filter((name) => name.startsWith("task_"));

  it.each<[string, object, readonly string[] | undefined, number]>([
    ["2025-11-25", {}, ["a"], 4],
    ["2025-11-25", { tasks: {} }, ["a"], 0],
    ["2025-11-25", {}, undefined, 3],
    ["2025-06-18", { tasks: {} }, ["a"], 4],
    ["2025-03-26", {}, ["a"], 4],
  ])("on %s for a client that declared %j and owners %j: %i", async (version, capabilities, owners, count) => {
    const served = await serve(fixtureTools, owners ? { owners } : {});
    const client = await connect(served, { version, capabilities, ...(owners ? { token: "a" } : {}) });
    const { tools } = (await client.call("tools/list")).result;
    expect(names(tools)).toHaveLength(count);
  });

  it("can be called also where they are not listed", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: { tasks: {} } });
    const { taskId } = await client.task("slow", { ms: 0, text: "ok" });
    expect((await client.tool("task_result", { taskId })).result.content[0].text).toBe("ok");
  });

  it("are never tasks themselves", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.tool("task_cancel", { taskId: "x" }, { task: {} })).error.code).toBe(-32601);
  });
});

it("answers a call whose stream could not begin with JSON alone", async () => {
  const { tool, open, began } = gate("long", "optional");
  const client = await connect(await serve([tool]));
  const answered = client.send("tools/call", { name: "long" }, { headers: { Accept: "application/json" } });
  await began;
  open();
  const response = await answered;
  expect(isStream(response)).toBe(false);
  expect(((await response.json()) as Wire).result.content[0].text).toBe("through");
});

describe("task_result of a task that asks", () => {
  const RELATED = "io.modelcontextprotocol/related-task";

  it("says which task asks where the client made it as one, and not where it took it for a plain call", async () => {
    const client = await connect(await serve(fixtureTools, { config: { inlineWaitMs: 5_000 } }), {
      capabilities: forms,
    });
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const waiting = await client.open("tools/call", { name: "task_result", arguments: { taskId } });
    const question = await waiting.request();
    expect(question.params._meta).toEqual({ [RELATED]: { taskId } });
    await client.answer(question, { action: "accept", content: { v: "yes" } });
    await waiting.closed;
    const call = await client.open("tools/call", { name: "ask", arguments: { keys: ["k1"] } });
    const plain = await call.request();
    expect(plain.params).not.toHaveProperty("_meta");
    await client.answer(plain, { action: "decline" });
    await call.closed;
  });
});
