import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

const owners = ["a", "b"];
const MINUTE = 60_000;
const DAY = 86_400_000;

describe("a call with params.task", () => {
  it("(C2) is answered at once with a nested, working task", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const response = await client.send("tools/call", { name: "long", task: { ttl: MINUTE } }, { id: "c" });
    expect(response.headers.get("content-type")).toBe("application/json");
    const answer = (await response.json()) as Wire;
    expect(Object.keys(answer.result).sort()).toEqual(["_meta", "task"]);
    expect(answer).toMatchObject({
      id: "c",
      result: {
        task: {
          taskId: expect.stringMatching(/^[\w-]{43}$/),
          status: "working",
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          ttl: MINUTE,
          pollInterval: 1_000,
        },
      },
    });
    open();
  });

  it("(C3) gets an id of its own each time", async () => {
    const client = await connect(await serve(fixtureTools));
    const tasks = await Promise.all(Array.from({ length: 20 }, () => client.task("slow", { ms: 0 })));
    expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(20);
  });

  it("(C4) says to the model that the work goes on", async () => {
    const client = await connect(await serve(fixtureTools));
    const { result } = await client.tool("slow", { ms: 0 }, { task: {} });
    const text = result._meta["io.modelcontextprotocol/model-immediate-response"];
    expect(text).toContain(result.task.taskId);
  });

  it("(C6) is stored when it is answered: it can be read and listed from anywhere", async () => {
    const served = await serve(fixtureTools, { owners });
    const client = await connect(served, { token: "a" });
    const other = await client.again();
    for (let n = 0; n < 20; n += 1) {
      const { taskId } = await client.task("slow", { ms: 1_000 });
      expect((await other.call("tasks/get", { taskId })).result.taskId).toBe(taskId);
      expect((await other.call("tasks/list")).result.tasks[0].taskId).toBe(taskId);
    }
  });

  it.each<[string, Wire]>([
    ["text", "yes"],
    ["null", null],
    ["a list", []],
    ["true", true],
    ["a ttl that is text", { ttl: "60000" }],
    ["a negative ttl", { ttl: -1 }],
    ["a ttl that is a list", { ttl: [] }],
    ["a ttl beyond all time", { ttl: 1e300 }],
  ])("(C1, A07) that is %s is -32602, and no task is made", async (_, task) => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const { error } = await client.tool("slow", { ms: 1 }, { task });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("params.task") });
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
  });

  it("(C1, A07) that is wrong is that before anything else", async () => {
    const client = await connect(await serve(fixtureTools));
    for (const name of ["greet", "nope", "task_result"])
      expect((await client.tool(name, {}, { task: "yes" })).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("params.task"),
      });
  });

  it("(C1) may have fields that are not known yet", async () => {
    const client = await connect(await serve(fixtureTools));
    expect(await client.task("slow", { ms: 0 }, { task: { ttl: MINUTE, later: true } })).toMatchObject({ ttl: MINUTE });
  });

  it.each<[Wire, number]>([
    // The official client sends just that.
    [{}, DAY],
    [{ ttl: 1 }, MINUTE],
    [{ ttl: 0 }, MINUTE],
    [{ ttl: 90_000.4 }, 90_000],
    [{ ttl: 10 * 365 * DAY }, 30 * DAY],
    [{ ttl: null }, 30 * DAY],
    [{ ttl: 30 * DAY }, 30 * DAY],
  ])("(A14, D1, D2) %j gets the ttl %i, in every answer", async (task, ttl) => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const { taskId, ttl: told } = await client.task("slow", { ms: 60_000 }, { task });
    expect(told).toBe(ttl);
    expect((await client.call("tasks/get", { taskId })).result.ttl).toBe(ttl);
    expect((await client.call("tasks/list")).result.tasks[0].ttl).toBe(ttl);
    // What has ended stays long enough to be fetched, so the ttl may have grown; it is told.
    const { ttl: last } = (await client.call("tasks/cancel", { taskId })).result;
    expect(last).toBeGreaterThanOrEqual(ttl);
    expect((await client.call("tasks/get", { taskId })).result.ttl).toBe(last);
  });

  it("(A14, G2) has null for a ttl without end, where the deployment allows it", async () => {
    const client = await connect(await serve(fixtureTools, { limits: { maxTtlMs: null } }));
    const { taskId } = await client.task("slow", { ms: 0 }, { task: { ttl: null } });
    expect((await client.call("tasks/get", { taskId })).result).toHaveProperty("ttl", null);
  });

  it("(A08) has a poll interval that makes no client spin", async () => {
    const eager = defineTool({
      name: "eager",
      description: "Wants to be polled often.",
      input: z.object({}),
      task: "optional",
      pollIntervalMs: 1,
      run: () => "done",
    });
    const client = await connect(await serve([eager]));
    expect((await client.task("eager")).pollInterval).toBe(250);
  });

  it("may be asked something before there is a task, on its stream", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: { elicitation: {} } });
    const stream = await client.open("tools/call", { name: "test_tool_with_task", task: {} });
    const question = await stream.request();
    expect(question.params).not.toHaveProperty("_meta");
    await client.answer(question, { action: "accept", content: { name: "Ann" } });
    await stream.closed;
    const { taskId } = stream.messages.at(-1).result.task;
    await client.poll(taskId, "completed");
    expect((await client.call("tasks/result", { taskId })).result.content[0].text).toBe("Hello, Ann!");
  });

  it("finds the same task by its key", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const meta = { _meta: { "dev.holdfast/idempotencyKey": "k" } };
    const [one, two] = [await client.task("slow", { ms: 0 }, meta), await client.task("slow", { ms: 0 }, meta)];
    expect(one.taskId).toBe(two.taskId);
    expect((await client.tool("slow", { ms: 1 }, { task: {}, ...meta })).error.code).toBe(40900);
  });
});

describe("what a tool allows", () => {
  it("(T2, A05) is no task of a tool that forbids it: -32601, and nothing ran", async () => {
    const client = await connect(await serve(fixtureTools));
    const count = async () => (await client.tool("plain", { x: "count" })).result.content[0].text;
    const before = await count();
    expect((await client.tool("plain", { x: 1 }, { task: { ttl: 1_000 } })).error.code).toBe(-32601);
    expect(await count()).toBe(before);
  });

  it("(T3, A04) is nothing but a task of a tool that requires it: -32601 as a JSON-RPC error, on 200", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("tools/call", { name: "must", arguments: { ms: 10 } });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Wire;
    expect(answer.error).toMatchObject({ code: -32601, message: expect.stringContaining("must") });
    expect(answer).not.toHaveProperty("result");
  });

  it("(T3) holds for bad arguments too: how to call comes before with what", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.tool("must", { ms: "x" })).error.code).toBe(-32601);
    expect((await client.tool("plain", { x: "x" }, { task: {} })).error.code).toBe(-32601);
  });

  it("(T4) is either, of a tool that leaves it open", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.tool("slow", { ms: 0 })).result).toHaveProperty("content");
    expect((await client.tool("slow", { ms: 0 }, { task: {} })).result).toHaveProperty("task");
  });

  it("(T6, A05) does not hide what is wrong with the arguments, and no task is made of them", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const { error } = await client.tool("slow", { ms: "soon" }, { task: {} });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("ms") });
    expect((await client.tool("nope", {}, { task: {} })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("nope"),
    });
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
  });

  it("(N5) is refused where the client cannot be asked what it may ask", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    expect((await client.tool("confirm_delete", { filename: "x" }, { task: {} })).error.code).toBe(-32601);
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
  });
});

describe("limits", () => {
  it("(S3) hold for the tasks of one owner, and say which", async () => {
    const { tool, open } = gate("long", "optional");
    const served = await serve([tool], { owners, limits: { maxLiveTasksPerOwner: 2 } });
    const client = await connect(served, { token: "a" });
    for (let n = 0; n < 2; n += 1) await client.task("long");
    const response = await client.send("tools/call", { name: "long", task: {} });
    expect(response.status).toBe(200);
    expect(((await response.json()) as Wire).error).toMatchObject({
      code: 42900,
      data: { limit: "MAX_LIVE_TASKS_PER_OWNER", value: 2 },
    });
    expect((await (await connect(served, { token: "b" })).tool("long", {}, { task: {} })).result).toHaveProperty(
      "task",
    );
    open();
  });
});
