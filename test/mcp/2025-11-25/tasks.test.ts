import { describe, expect, it } from "vitest";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect, type LegacyClient } from "../../support/legacy";
import { serve, until, withTasks, type Wire } from "../../support/mcp";

const owners = ["a", "b"];
const RELATED = "io.modelcontextprotocol/related-task";
const forms = { elicitation: {} };

const asOwner = async (tools = fixtureTools, over = {}): Promise<LegacyClient> =>
  connect(await serve(tools, { owners, ...over }), { token: "a", capabilities: forms });

describe("the life of a task", () => {
  it("(L1) goes from working through input_required to completed", async () => {
    const client = await asOwner();
    const { taskId, status } = await client.task("ask", { keys: ["k1"] });
    expect(status).toBe("working");
    await client.poll(taskId, "input_required");
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(), { action: "accept", content: { v: "x" } });
    await stream.closed;
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("completed");
  });

  it("(N4) leaves input_required when all is answered, and not before", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await asOwner([...fixtureTools, tool]);
    const { taskId } = await client.task("ask", { keys: ["k1", "k2"] });
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(1), { action: "decline" });
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
    await client.answer(await stream.request(2), { action: "decline" });
    expect((await client.call("tasks/get", { taskId })).result.status).not.toBe("input_required");
    await stream.closed;
    open();
  });

  it.each<[string, Wire, string]>([
    ["a result", {}, "completed"],
    ["a tool error", { isError: true }, "failed"],
    ["a JSON-RPC error", { rpcError: true }, "failed"],
  ])("(L2) ends with %s as it should", async (_, how, status) => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, text: "why", ...how });
    expect((await client.poll(taskId, status)).status).toBe(status);
  });

  it.each([{ isError: true }, { rpcError: true }])(
    "(L2, W05) says in its status message why it failed: %j",
    async (how) => {
      const client = await asOwner();
      const { taskId } = await client.task("slow", { ms: 0, text: "The disk is full.", ...how });
      expect((await client.poll(taskId, "failed")).statusMessage).toBe("The disk is full.");
    },
  );

  it("(L2) is failed here and completed on 2026-07-28, for the same task", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, isError: true });
    await client.poll(taskId, "failed");
    const modern = await client.served.call("tasks/get", { taskId }, { token: "a", capabilities: withTasks });
    expect(modern.result).toMatchObject({ status: "completed", result: { isError: true } });
  });

  it("(L3) moves its last update with each change, and its creation never", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const made = await client.task("long");
    await began;
    client.served.advance(10_000);
    open();
    const done = await client.poll(made.taskId, "completed");
    expect(done.createdAt).toBe(made.createdAt);
    expect(Date.parse(done.lastUpdatedAt) - Date.parse(made.lastUpdatedAt)).toBeGreaterThanOrEqual(10_000);
  });

  it("(A10) is never completed before its result is there", async () => {
    const client = await asOwner();
    const misses = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const { taskId } = await client.task("slow", { ms: 5, text: `r${n}` });
        await client.poll(taskId, "completed");
        return (await client.call("tasks/result", { taskId })).result?.content[0].text !== `r${n}`;
      }),
    );
    expect(misses.filter(Boolean)).toEqual([]);
  });

  it("(A01) stays readable, and its result too, until its ttl ends", async () => {
    const client = await asOwner();
    const { taskId, ttl } = await client.task("slow", { ms: 0, text: "one" }, { task: { ttl: 60_000 } });
    const read = async () => (await client.call("tasks/result", { taskId })).result?.content[0].text;
    expect([await read(), await read()]).toEqual(["one", "one"]);
    client.served.advance(ttl - 2_000);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("completed");
  });
});

describe("tasks/get", () => {
  it("(G1) is the task itself, without a wrapper and without related-task", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 60_000 });
    const { result } = await client.call("tasks/get", { taskId });
    expect(result.taskId).toBe(taskId);
    expect(result).not.toHaveProperty("task");
    expect(result).not.toHaveProperty("_meta");
    await client.call("tasks/cancel", { taskId });
  });

  it("(G4) is no stream", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const response = await client.send("tasks/get", { taskId });
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  it("(G5) goes by its param, whatever related-task says", async () => {
    const client = await asOwner();
    const [one, two] = [await client.task("slow", { ms: 0 }), await client.task("slow", { ms: 0 })];
    const params = { taskId: one.taskId, _meta: { [RELATED]: { taskId: two.taskId } } };
    expect((await client.call("tasks/get", params)).result.taskId).toBe(one.taskId);
  });

  it.each<[string, Wire, string]>([
    ["no id", {}, "params.taskId"],
    ["an id that is a number", { taskId: 42 }, "params.taskId"],
    ["no params", undefined, "params.taskId"],
  ])("(A07) with %s is -32602 and names the field, of all methods", async (_, params, named) => {
    const client = await asOwner();
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const { error } = await client.call(method, params);
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(named) });
    }
  });
});

describe("a task that is not there", () => {
  const methods = ["tasks/get", "tasks/result", "tasks/cancel"];

  it("(G3, A06, S1) reads the same whether it is unknown, mistyped, foreign or expired", async () => {
    const client = await asOwner();
    const stranger = await connect(client.served, { token: "b" });
    const { taskId } = await client.task("slow", { ms: 60_000 });
    const expired = (await client.task("slow", { ms: 0 }, { task: { ttl: 60_000 } })).taskId;
    const mistyped = `${taskId.slice(0, 42)}${taskId.endsWith("A") ? "B" : "A"}`;
    const bodies = new Set<string>();
    for (const method of methods) {
      for (const id of ["0".repeat(32), mistyped, "__proto__", ""])
        bodies.add(await (await client.send(method, { taskId: id }, { id: 1 })).text());
      bodies.add(await (await stranger.send(method, { taskId }, { id: 1 })).text());
    }
    client.served.advance(60_000);
    for (const method of methods) bodies.add(await (await client.send(method, { taskId: expired }, { id: 1 })).text());
    expect([...bodies].map((body) => JSON.parse(body))).toEqual([
      { jsonrpc: "2.0", id: 1, error: { code: -32602, message: expect.stringContaining("No such task") } },
    ]);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("working");
    await client.call("tasks/cancel", { taskId });
  });

  it("(S2) is not found by guessing: ids are long and random, where nobody can be told apart too", async () => {
    const client = await connect(await serve(fixtureTools));
    const { taskId } = await client.task("slow", { ms: 0 });
    expect(taskId).toMatch(/^[\w-]{43}$/);
    expect((await (await client.again()).call("tasks/get", { taskId })).result.taskId).toBe(taskId);
  });

  it("(A03, D1, D4) is gone for all methods from the instant its ttl ends, and its work is stopped", async () => {
    const { tool, began, stopped } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId, ttl } = await client.task("long", {}, { task: { ttl: 2_000 } });
    await began;
    client.served.advance(ttl - 1_000);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("working");
    const waiting = client.call("tasks/result", { taskId });
    client.served.advance(1_000);
    for (const method of methods) expect((await client.call(method, { taskId })).error.code).toBe(-32602);
    expect((await client.call("tasks/list")).result.tasks).toEqual([]);
    await client.served.sweep();
    // Whoever waits is answered, and does not wait for ever (R5).
    expect((await waiting).error).toMatchObject({ code: -32602 });
    await stopped;
  });

  it("(S5) says nothing of what went wrong inside", async () => {
    const client = await asOwner(fixtureTools, {
      deps: { tasks: { get: () => Promise.reject(new Error("table tasks has no column x")) } as Wire },
    });
    const response = await client.send("tasks/get", { taskId: "x" });
    const body = await response.text();
    expect(JSON.parse(body).error.code).toBe(-32603);
    expect(body).not.toContain("column");
  });
});

describe("tasks/list", () => {
  it("(I1) comes in pages that never leave one out or repeat one", async () => {
    const client = await asOwner();
    const made = new Set<string>();
    for (let n = 0; n < 55; n += 1) made.add((await client.task("slow", { ms: 0 })).taskId);
    const first = (await client.call("tasks/list")).result;
    expect(first.tasks).toHaveLength(50);
    const second = (await client.call("tasks/list", { cursor: first.nextCursor })).result;
    expect(second).not.toHaveProperty("nextCursor");
    const ids = [...first.tasks, ...second.tasks].map(({ taskId }: Wire) => taskId);
    expect(ids).toHaveLength(55);
    expect(new Set(ids)).toEqual(made);
  });

  it("(I2) has every task of the owner and no other, newest first", async () => {
    const client = await asOwner();
    const stranger = await connect(client.served, { token: "b" });
    await stranger.task("slow", { ms: 0 });
    const one = await client.task("slow", { ms: 0 });
    client.served.advance(1);
    const two = await client.task("slow", { ms: 0 });
    const { tasks } = (await client.call("tasks/list")).result;
    expect(tasks.map(({ taskId }: Wire) => taskId)).toEqual([two.taskId, one.taskId]);
  });

  it("(I3) has whole tasks without related-task", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0 });
    await client.poll(taskId, "completed");
    const { result } = await client.call("tasks/list");
    expect(result.tasks).toEqual([(await client.call("tasks/get", { taskId })).result]);
    expect(result).not.toHaveProperty("_meta");
  });

  it("(I3) has a cursor that outlives the task it names", async () => {
    const client = await asOwner();
    for (let n = 0; n < 51; n += 1) {
      await client.task("slow", { ms: 0 }, { task: { ttl: n === 0 ? 120_000 : 60_000 } });
      // Those of one instant stand in no order.
      client.served.advance(1);
    }
    const { nextCursor } = (await client.call("tasks/list")).result;
    client.served.advance(60_000);
    expect((await client.call("tasks/list", { cursor: nextCursor })).result.tasks).toHaveLength(1);
  });

  it.each(["", "nonsense", 5])("(I1) refuses the cursor %j with -32602", async (cursor) => {
    expect((await (await asOwner()).call("tasks/list", { cursor })).error.code).toBe(-32602);
  });

  it("(I3) refuses another owner's cursor", async () => {
    const client = await asOwner();
    for (let n = 0; n < 51; n += 1) await client.task("slow", { ms: 0 });
    const { nextCursor } = (await client.call("tasks/list")).result;
    const stranger = await connect(client.served, { token: "b" });
    expect((await stranger.call("tasks/list", { cursor: nextCursor })).error.code).toBe(-32602);
  });
});

describe("tasks/cancel", () => {
  it("(X1) stops the work, and is answered with the task as it is then: cancelled", async () => {
    const { tool, began, stopped } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    await began;
    const { result } = await client.call("tasks/cancel", { taskId });
    expect(result).toMatchObject({ taskId, status: "cancelled", statusMessage: "The task was cancelled." });
    expect(result).not.toHaveProperty("_meta");
    await stopped;
  });

  it("(X2, A09) of what has ended is -32602 and changes nothing", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, text: "keep me" });
    await client.poll(taskId, "completed");
    const { error } = await client.call("tasks/cancel", { taskId });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("completed") });
    expect((await client.call("tasks/result", { taskId })).result.content[0].text).toBe("keep me");
    const { taskId: other } = await client.task("slow", { ms: 60_000 });
    await client.call("tasks/cancel", { taskId: other });
    expect((await client.call("tasks/cancel", { taskId: other })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("cancelled"),
    });
  });

  it("(X3, X4) is for good, and the task stays readable", async () => {
    const { tool, began, stopped, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    await began;
    await client.call("tasks/cancel", { taskId });
    open();
    await stopped;
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("cancelled");
    expect((await client.call("tasks/list")).result.tasks[0].status).toBe("cancelled");
  });

  it("(X5, A16) is not what notifications/cancelled does, for the call that made the task", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { result } = await client.call("tools/call", { name: "long", task: {} }, { id: "c1" });
    const { taskId } = result.task;
    await began;
    const response = await client.notify("notifications/cancelled", { requestId: "c1", reason: "user left" });
    expect([response.status, await response.text()]).toEqual([202, ""]);
    open();
    await client.poll(taskId, "completed");
  });
});

it("keeps the answers of several sessions of one owner apart from their tasks, which are one", async () => {
  const client = await asOwner();
  const others = await Promise.all([client.again(), client.again()]);
  const { taskId } = await client.task("slow", { ms: 0 });
  await until(
    () => Promise.all(others.map((other) => other.call("tasks/get", { taskId }))),
    (answers) => answers.every(({ result }) => result.status === "completed"),
  );
});
