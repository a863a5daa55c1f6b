// Tools whose work is done elsewhere, seen by clients of each revision; the test itself is the worker.
import { describe, expect, it } from "vitest";
import type { RemoteTool } from "../../src/tool/remote-tool";
import { defineTool } from "../../src/tool/define-tool";
import { remoteTool } from "../../src/tool/remote-tool";
import { connect } from "../support/legacy";
import { serve, until, withTasks, type Served, type Wire } from "../support/mcp";
import { remote } from "../support/remote";

type Over = Parameters<typeof serve>[1] & object;
type Origin = "code" | "REMOTE_TOOLS" | "the API";

const local = defineTool({
  name: "local",
  description: "Runs here.",
  input: { type: "object" },
  task: "forbidden",
  run: () => "here",
});

/** A deployment with one remote tool, wherever that comes from. */
async function serveRemote(
  facts: Partial<RemoteTool> = {},
  over: Over = {},
  origin: Origin = "the API",
): Promise<Served> {
  const tool = remote(facts);
  const served = await serve(origin === "code" ? [local, remoteTool(tool)] : [local], {
    ...over,
    config: { ...over.config, ...(origin === "REMOTE_TOOLS" ? { remoteTools: [tool] } : {}) },
  });
  if (origin === "the API") await served.remoteTools.put(tool);
  return served;
}

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const done = text("done");
const forms = { elicitation: {} };
const tasks = { capabilities: withTasks };
const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
const get = async (served: Served, taskId: string): Promise<Wire> =>
  (await served.call("tasks/get", { taskId }, tasks)).result;

describe.each<Origin>(["code", "REMOTE_TOOLS", "the API"])("a remote tool of %s", (origin) => {
  const start = (facts?: Partial<RemoteTool>, over?: Over) => serveRemote(facts, over, origin);

  it("is listed like any other", async () => {
    const outputSchema = { type: "object", properties: { url: { type: "string" } } };
    const served = await start({ title: "Render", outputSchema, annotations: { readOnlyHint: true } });
    const shown = {
      name: "render",
      title: "Render",
      description: "Renders a scene.",
      inputSchema: remote().inputSchema,
      outputSchema,
      annotations: { readOnlyHint: true },
    };
    const listed = async (list: Promise<Wire>): Promise<Wire> =>
      (await list).result.tools.filter(({ name }: Wire) => !name.startsWith("task_"));
    const [, modern] = await listed(served.call("tools/list"));
    expect(modern).toEqual(shown);
    const newest = await connect(served);
    expect(await listed(newest.call("tools/list"))).toEqual([
      expect.objectContaining({ name: "local" }),
      { ...shown, execution: { taskSupport: "optional" } },
    ]);
    const older = await connect(served, { version: "2025-06-18" });
    expect((await listed(older.call("tools/list")))[1]).toEqual(shown);
  });

  it("validates arguments before any task is made", async () => {
    const served = await start({}, { owners: ["a"] });
    const a = { token: "a" };
    const wrong = { frames: 0 };
    const message = expect.stringContaining("arguments.frames");
    for (const capabilities of [{}, withTasks]) {
      const { result } = await served.tool("render", wrong, { ...a, capabilities });
      expect(result).toMatchObject({ isError: true, content: [{ text: message }] });
    }
    const client = await connect(served, a);
    expect((await client.tool("render", wrong)).result).toMatchObject({ isError: true, content: [{ text: message }] });
    expect((await client.tool("render", wrong, { task: {} })).error).toMatchObject({ code: -32602, message });
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
  });

  it("becomes a task of a client that declared tasks, and its worker's result is the task's", async () => {
    const served = await start({ pollIntervalMs: 5_000, ttlMs: 120_000 });
    const { result } = await served.tool("render", { frames: 2 }, tasks);
    expect(result).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 5_000, ttlMs: 120_000 });
    const job = await served.take("gpu");
    expect(job.task).toMatchObject({ id: result.taskId, tool: "render", arguments: '{"frames":2}' });
    await job.heartbeat({ message: "half way", progress: 1, total: 2 });
    expect(await get(served, result.taskId)).toMatchObject({ status: "working", statusMessage: "half way (50%)" });
    expect(await job.complete(done)).toMatchObject({ kind: "settled" });
    expect(await get(served, result.taskId)).toMatchObject({ status: "completed", result: done });
  });

  it("is held open for a client of 2026-07-28 without tasks", async () => {
    const served = await start();
    const call = served.tool("render", { frames: 2 });
    const job = await served.take("gpu");
    expect(job.task.client.bridged).toBe(true);
    await job.complete(done);
    expect((await call).result).toMatchObject({ resultType: "complete", ...done });
  });

  it("becomes a task on 2025-11-25 where the client asks for one", async () => {
    const served = await start();
    const client = await connect(served);
    const { taskId } = await client.task("render");
    const result = client.call("tasks/result", { taskId });
    await (await served.take("gpu")).complete(done);
    expect((await result).result).toMatchObject(done);
    expect(await client.poll(taskId, "completed")).toMatchObject({ taskId });
  });

  it.each(legacyVersions)("is held open on %s where the client does not", async (version) => {
    const served = await start();
    const client = await connect(served, { version });
    const call = client.tool("render");
    const job = await served.take("gpu");
    expect(job.task.client.bridged).toBe(true);
    await job.complete(done);
    expect((await call).result).toEqual(done);
  });
});

describe("a call that outlives its wait", () => {
  const config = { inlineWaitMs: 0 };

  it("leaves a handle with which the model gets the result later", async () => {
    const served = await serveRemote({}, { config });
    const client = await connect(served, { version: "2025-06-18" });
    for (const call of [served.tool("render"), client.tool("render")]) {
      const { result } = await call;
      expect(result).not.toHaveProperty("isError");
      const { taskId } = result._meta["dev.holdfast/task"];
      await (await served.take("gpu")).complete(done);
      const later = await served.tool("task_result", { taskId });
      expect(later.result).toMatchObject(done);
    }
  });

  it("says that something is amiss where a result of some shape was promised, whatever became of the tool", async () => {
    const served = await serveRemote({ outputSchema: { type: "object" } }, { config: { inlineWaitMs: 200 } });
    const client = await connect(served, { version: "2025-06-18" });
    const calls = [served.tool("render"), client.tool("render")];
    for (const _ of calls) await served.take("gpu");
    await served.remoteTools.remove("render");
    for (const call of calls) expect((await call).result).toMatchObject({ isError: true, _meta: expect.anything() });
  });
});

describe("a remote tool that only runs as a task", () => {
  const required = { task: "required" } as const;

  it("is a task, or nothing, where there are tasks", async () => {
    const served = await serveRemote(required);
    const client = await connect(served);
    expect((await served.tool("render")).error.code).toBe(-32021);
    expect((await client.tool("render")).error.code).toBe(-32601);
    expect((await served.tool("render", {}, tasks)).result.resultType).toBe("task");
    expect(await client.task("render")).toMatchObject({ status: "working" });
  });

  it("is held open where there are none", async () => {
    const served = await serveRemote(required);
    const client = await connect(served, { version: "2025-06-18" });
    const call = client.tool("render");
    await (await served.take("gpu")).complete(done);
    expect((await call).result).toEqual(done);
  });
});

describe("what a worker returns", () => {
  const outputSchema = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };

  it("is held against the output schema, as of when the task began", async () => {
    const served = await serveRemote({ outputSchema });
    const { taskId } = (await served.tool("render", {}, tasks)).result;
    await served.remoteTools.remove("render");
    const job = await served.take("gpu");
    expect(await job.complete({ content: [], structuredContent: { url: 5 } })).toMatchObject({
      kind: "refused",
      code: "invalid",
      message: expect.stringContaining("structuredContent.url"),
    });
    expect(await get(served, taskId)).toMatchObject({ status: "working" });
    await job.complete({ ...text("{}"), structuredContent: { url: "x" } });
    expect(await get(served, taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { url: "x" } },
    });
  });

  it("is the same failure in both eras, with a reason that people can read (W05)", async () => {
    const served = await serveRemote();
    const client = await connect(served);
    const modern = async () => (await served.tool("render", {}, tasks)).result.taskId as string;
    const legacy = async () => (await client.task("render")).taskId as string;
    for (const begin of [modern, legacy]) {
      const failing = await begin();
      await (await served.take("gpu")).fail({ code: -32001, message: "The scene has no camera." });
      const error = { code: -32001, message: "The scene has no camera." };
      const seen = { status: "failed", statusMessage: error.message };
      expect(await get(served, failing)).toMatchObject({ ...seen, error });
      expect((await client.call("tasks/get", { taskId: failing })).result).toMatchObject(seen);
      expect((await client.call("tasks/result", { taskId: failing })).error).toMatchObject(error);

      const mistaken = await begin();
      await (await served.take("gpu")).complete({ ...text("The scene is empty."), isError: true });
      const reason = { statusMessage: "The scene is empty." };
      expect(await get(served, mistaken)).toMatchObject({ status: "completed", ...reason, result: { isError: true } });
      const { result } = await client.call("tasks/get", { taskId: mistaken });
      expect(result).toMatchObject({ status: "failed", ...reason });
    }
  });

  it("is an error of the call itself where that is held open (W05)", async () => {
    const served = await serveRemote();
    const client = await connect(served, { version: "2025-06-18" });
    for (const begin of [() => served.tool("render"), () => client.tool("render")]) {
      const failing = begin();
      await (await served.take("gpu")).fail({ code: -32001, message: "No camera." });
      expect((await failing).error).toMatchObject({ code: -32001, message: "No camera." });
      const mistaken = begin();
      await (await served.take("gpu")).complete({ ...text("Empty."), isError: true });
      expect((await mistaken).result).toMatchObject({ isError: true, ...text("Empty.") });
    }
  });
});

describe("what a worker asks", () => {
  const asks = ["form"] as const;
  const questions = {
    scene: {
      method: "elicitation/create",
      params: { mode: "form", message: "Which scene?", requestedSchema: { type: "object" } },
    },
  } as const;
  const yes = { action: "accept", content: {} };

  it("needs a client that can be asked, unless its model may answer", async () => {
    const served = await serveRemote({ asks });
    expect((await served.tool("render", {}, tasks)).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    });
    const client = await connect(served);
    expect((await client.tool("render", {}, { task: {} })).error).toMatchObject({
      code: -32601,
      message: expect.stringContaining("may ask for elicitation"),
    });
    const call = client.tool("render");
    await (await served.take("gpu")).complete(done);
    expect((await call).result).toEqual(done);
  });

  it("reaches the client of 2026-07-28, and its answer the worker", async () => {
    const served = await serveRemote({ asks });
    const capabilities = { ...forms, ...withTasks };
    const { taskId } = (await served.tool("render", {}, { capabilities })).result;
    const job = await served.take("gpu");
    expect(await job.ask(questions)).toMatchObject({ kind: "held" });
    expect(await get(served, taskId)).toMatchObject({ status: "input_required", inputRequests: questions });
    await served.call("tasks/update", { taskId, inputResponses: { scene: yes } }, { capabilities });
    expect(await job.heartbeat()).toMatchObject({
      kind: "held",
      task: { questions: [{ authorKey: "scene", state: { kind: "answered", answer: JSON.stringify(yes) } }] },
    });
  });

  it("goes to the client whose call is held open, or to its model", async () => {
    const served = await serveRemote({ asks });
    const client = await connect(served, { version: "2025-06-18", capabilities: forms });
    const stream = await client.open("tools/call", { name: "render" });
    const job = await served.take("gpu");
    await job.ask(questions);
    const asked = await stream.request();
    expect(asked).toMatchObject({ method: "elicitation/create", params: { message: "Which scene?" } });
    await client.answer(asked, yes);
    await until(
      () => served.store.read({ id: job.task.id, owner: null }),
      (task) => task?.stage.phase === "working",
    );
    await job.complete(done);
    expect((await stream.until(({ result }) => result)).result).toEqual(done);

    const mute = served.tool("render");
    await (await served.take("gpu")).ask(questions);
    expect((await mute).result.content[0].text).toContain("task_answer");
  });
});

describe("a tool declared over the API", () => {
  it("is there as soon as it is declared, and gone as soon as it is removed; its tasks go on", async () => {
    const served = await serve([local]);
    expect((await served.tool("render")).error.code).toBe(-32602);
    await served.remoteTools.put(remote());
    const { taskId } = (await served.tool("render", {}, tasks)).result;
    await served.remoteTools.put(remote({ inputSchema: { type: "object", required: ["scene"] } }));
    expect((await served.tool("render", {}, tasks)).result).toMatchObject({ isError: true });
    await served.remoteTools.remove("render");
    expect((await served.tool("render", {}, tasks)).error.code).toBe(-32602);
    await (await served.take("gpu")).complete(done);
    expect(await get(served, taskId)).toMatchObject({ status: "completed", result: done });
  });

  it("has its annotated arguments checked against their headers", async () => {
    const region = { type: "string", "x-mcp-header": "Region" };
    const served = await serveRemote({ inputSchema: { type: "object", properties: { region } } });
    const sent = (value: string | null) =>
      served.tool("render", { region: "eu" }, { ...tasks, headers: { "Mcp-Param-Region": value } });
    expect((await sent(null)).error.code).toBe(-32020);
    expect((await sent("us")).error.code).toBe(-32020);
    expect((await sent("eu")).result.resultType).toBe("task");
  });
});
