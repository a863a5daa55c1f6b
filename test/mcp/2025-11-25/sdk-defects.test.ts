// What an official SDK's server gets wrong on this revision, each against Holdfast.
import { describe, expect, it } from "vitest";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect } from "../../support/legacy";
import { serve, until, type Wire } from "../../support/mcp";

const forms = { elicitation: {} };
const MONTH = 30 * 86_400_000;

describe("unlike the reference of 2025-11-25, this server", () => {
  it("answers a plain call of a task-only tool with a JSON-RPC error, not with a tool result", async () => {
    const answer = await (await connect(await serve(fixtureTools))).tool("must", { ms: 0 });
    expect(answer).not.toHaveProperty("result");
    expect(answer.error.code).toBe(-32601);
  });

  it("does not run a tool that forbids tasks when it is called as one", async () => {
    const { tool, runs } = gate("quick", "forbidden");
    const client = await connect(await serve([tool]));
    expect((await client.tool("quick", {}, { task: {} })).error.code).toBe(-32601);
    expect(runs()).toBe(0);
  });

  it("stops the handler when a task is cancelled", async () => {
    const { tool, began, stopped } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const { taskId } = await client.task("long");
    await began;
    await client.call("tasks/cancel", { taskId });
    await stopped;
  });

  it("says of a cancelled task that it was cancelled, not that something is broken", async () => {
    const client = await connect(await serve(fixtureTools));
    const { taskId } = await client.task("slow", { ms: 60_000 });
    await client.call("tasks/cancel", { taskId });
    const { error } = await client.call("tasks/result", { taskId });
    expect(error).toMatchObject({ code: -32602, data: { status: "cancelled" } });
  });

  it("keeps a task with a ttl of 30 days for 30 days", async () => {
    const client = await connect(await serve(fixtureTools));
    const { taskId, ttl } = await client.task("slow", { ms: 0 }, { task: { ttl: MONTH } });
    expect(ttl).toBe(MONTH);
    await client.poll(taskId, "completed");
    client.served.advance(MONTH - 60_000);
    expect((await (await client.again()).call("tasks/get", { taskId })).result.status).toBe("completed");
  });

  it("goes back to working when a question is answered", async () => {
    const { tool, open } = gate("long", "optional");
    const asks: Wire = { ...tool, name: "asks" };
    asks.run = async (args: unknown, task: Wire) => {
      const schema = { type: "object", properties: { v: { type: "string" } } };
      await task.ask({ q: { kind: "form", message: "?", schema } });
      return tool.run(args, task);
    };
    const client = await connect(await serve([asks]), { capabilities: forms });
    const { taskId } = await client.task("asks");
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(), { action: "decline" });
    await client.poll(taskId, "working");
    open();
    await stream.closed;
  });

  it("answers who waits at the end of the task, not at the next poll interval", async () => {
    const { tool, open } = gate("long", "optional");
    const slowlyPolled: Wire = { ...tool, pollIntervalMs: 3_600_000 };
    const client = await connect(await serve([slowlyPolled]));
    const { taskId } = await client.task("long");
    const stream = await client.open("tasks/result", { taskId });
    open();
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toBe("through");
  });

  it("answers a call of an unknown tool with a protocol error, not with a tool result", async () => {
    const answer = await (await connect(await serve(fixtureTools))).tool("nope");
    expect(answer).not.toHaveProperty("result");
    expect(answer.error.code).toBe(-32602);
  });

  it("names the field that is wrong, and dumps no validator's words", async () => {
    const client = await connect(await serve(fixtureTools));
    for (const params of [{}, { taskId: 42 }]) {
      const { error } = await client.call("tasks/get", params);
      expect(error).toEqual({ code: -32602, message: "params.taskId must be a string." });
    }
  });

  it("tells when the task changed, not when it was asked", async () => {
    const client = await connect(await serve(fixtureTools));
    const { taskId } = await client.task("slow", { ms: 0 });
    const { lastUpdatedAt } = await client.poll(taskId, "completed");
    client.served.advance(10_000);
    expect((await client.call("tasks/get", { taskId })).result.lastUpdatedAt).toBe(lastUpdatedAt);
  });

  it("keeps the tasks of a user who comes back in a new session", async () => {
    const served = await serve(fixtureTools, { owners: ["a"] });
    const { taskId } = await (await connect(served, { token: "a" })).task("slow", { ms: 0 });
    const later = await connect(served, { token: "a" });
    await until(
      () => later.call("tasks/get", { taskId }),
      ({ result }) => result.status === "completed",
    );
  });

  it("shows no task to another caller's list", async () => {
    const served = await serve(fixtureTools, { owners: ["a", "b"] });
    await (await connect(served, { token: "a" })).task("slow", { ms: 0 });
    expect((await (await connect(served, { token: "b" })).call("tasks/list")).result.tasks).toEqual([]);
  });
});
