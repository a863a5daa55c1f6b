import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect, type EventReader, isStream, type LegacyClient } from "../../support/legacy";
import { serve, until, type Wire } from "../../support/mcp";

const owners = ["a", "b"];
const RELATED = "io.modelcontextprotocol/related-task";
const forms = { elicitation: {} };
const yes = { action: "accept", content: { v: "yes" } };

const asOwner = async (tools = fixtureTools): Promise<LegacyClient> =>
  connect(await serve(tools, { owners, limits: { pollIntervalMs: 20 } }), { token: "a", capabilities: forms });

const progressOf = (stream: EventReader): Wire[] =>
  stream.messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);

describe("tasks/result of a task that has ended", () => {
  it("(R1, A02) is the very result of the call, and says which task it is of", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, text: "raw" });
    await client.poll(taskId, "completed");
    expect((await client.call("tasks/result", { taskId })).result).toEqual({
      content: [{ type: "text", text: "raw" }],
      _meta: { [RELATED]: { taskId } },
    });
  });

  it("(R1) is a result also where the tool says that it failed", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, text: "no", isError: true });
    await client.poll(taskId, "failed");
    expect((await client.call("tasks/result", { taskId })).result).toMatchObject({
      isError: true,
      content: [{ text: "no" }],
    });
  });

  it("(R1) is the same JSON-RPC error where the call ended in one", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 0, text: "no", rpcError: true });
    await client.poll(taskId, "failed");
    const response = await client.send("tasks/result", { taskId }, { id: 4 });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 4, error: { code: -32000, message: "no" } });
  });

  it("(R3) keeps what the tool itself has to say beside it", async () => {
    const tells = defineTool({
      name: "tells",
      description: "Says more.",
      input: z.object({}),
      task: "optional",
      run: () => ({ content: [], _meta: { "example.com/cost": 3, [RELATED]: { taskId: "forged" } } }),
    });
    const client = await asOwner([tells]);
    const { taskId } = await client.task("tells");
    await client.poll(taskId, "completed");
    expect((await client.call("tasks/result", { taskId })).result._meta).toEqual({
      "example.com/cost": 3,
      [RELATED]: { taskId },
    });
  });

  it("(R4) is an error that says so where it was cancelled: there is none, and nothing to wait for", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("slow", { ms: 60_000 });
    await client.call("tasks/cancel", { taskId });
    expect((await client.call("tasks/result", { taskId })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("cancelled"),
      data: { taskId, status: "cancelled" },
    });
  });
});

describe("tasks/result of a task that goes on", () => {
  it("(R2) waits for its end in a stream, whose headers come at once", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    const stream = await client.open("tasks/result", { taskId }, { id: "r" });
    open();
    await stream.closed;
    expect(stream.comments.length).toBeGreaterThan(0);
    expect(stream.messages.at(-1)).toEqual({
      jsonrpc: "2.0",
      id: "r",
      result: { content: [{ type: "text", text: "through" }], _meta: { [RELATED]: { taskId } } },
    });
  });

  it("(R2) is answered to any number that wait, from several sessions", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const other = await client.again();
    const { taskId } = await client.task("long");
    const waiting = [client, client, other, other].map((who) => who.open("tasks/result", { taskId }));
    const streams = await Promise.all(waiting);
    open();
    await Promise.all(streams.map(({ closed }) => closed));
    for (const { messages } of streams) expect(messages.at(-1).result.content[0].text).toBe("through");
  });

  it.each<[string, (client: LegacyClient, taskId: string) => Promise<unknown>, object]>([
    ["is cancelled", (client, taskId) => client.call("tasks/cancel", { taskId }), { data: { status: "cancelled" } }],
    [
      "expires",
      async ({ served }) => (served.advance(86_400_000), served.sweep()),
      { message: expect.stringContaining("No such task") },
    ],
  ])("(R4, R5) is answered when it %s meanwhile", async (_, end, expected) => {
    const { tool, began } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    await began;
    const stream = await client.open("tasks/result", { taskId });
    await end(client, taskId);
    await stream.closed;
    expect(stream.messages.at(-1).error).toMatchObject({ code: -32602, ...expected });
  });

  it("(R6, A11) is not what the task lives by: a client may leave and ask again", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    await began;
    const stream = await client.open("tasks/result", { taskId });
    await stream.leave();
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("working");
    open();
    expect((await client.call("tasks/result", { taskId })).result.content[0].text).toBe("through");
  });

  it("waits also where its client takes no stream", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await asOwner([tool]);
    const { taskId } = await client.task("long");
    const waiting = client.send("tasks/result", { taskId }, { headers: { Accept: "application/json" } });
    open();
    const response = await waiting;
    expect(isStream(response)).toBe(false);
    expect(((await response.json()) as Wire).result.content[0].text).toBe("through");
  });
});

describe("questions on the stream of tasks/result", () => {
  it("(N1, N2) go out there, with the task they are of, and the answer goes on with it", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    await client.poll(taskId, "input_required");
    const stream = await client.open("tasks/result", { taskId });
    const question = await stream.request();
    expect(question.params._meta[RELATED]).toEqual({ taskId });
    expect((await client.answer(question, yes)).status).toBe(202);
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain("yes");
  });

  it("(N2) go out also when the stream was there before them", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(), yes);
    await stream.closed;
  });

  it("(N3) go out there rather than on the stream of the session, when both are open before they are asked", async () => {
    const { tool, open } = gate("long", "optional");
    const asks = defineTool({
      name: "asks",
      description: "Asks when it is let.",
      input: z.object({}),
      task: "optional",
      async run(_, task) {
        await tool.run({}, task);
        const schema = { type: "object", properties: { v: { type: "string" } } };
        return JSON.stringify(await task.ask({ q: { kind: "form", message: "?", schema } }));
      },
    });
    const client = await asOwner([asks]);
    const session = await client.listen();
    const { taskId } = await client.task("asks");
    const stream = await client.open("tasks/result", { taskId });
    await until(() => stream.events.length, Boolean);
    open();
    await client.answer(await stream.request(), yes);
    await stream.closed;
    await session.until(({ params }) => params?.status === "completed");
    expect(session.messages.filter(({ id }) => id !== undefined)).toEqual([]);
    await session.leave();
  });

  it("(N7) go out again on the next one, with another id, when the first broke", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const first = await client.open("tasks/result", { taskId });
    const question = await first.request();
    await first.leave();
    const second = await client.open("tasks/result", { taskId });
    const again = await second.request();
    expect(again.id).not.toBe(question.id);
    expect(again.params).toEqual(question.params);
    await client.answer(again, yes);
    expect((await client.answer(question, { action: "accept", content: { v: "late" } })).status).toBe(202);
    await second.closed;
    expect(second.messages.at(-1).result.content[0].text).toContain("yes");
  });

  it("(N7) go over to the stream of the session when that of tasks/result broke", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const stream = await client.open("tasks/result", { taskId });
    await stream.request();
    const session = await client.listen();
    await stream.leave();
    await client.answer(await session.request(), yes);
    await client.poll(taskId, "completed");
    await session.leave();
  });

  it("(N5) pass by a client that cannot be asked, which waits on", async () => {
    const client = await asOwner();
    const deaf = await connect(client.served, { token: "a" });
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    await client.poll(taskId, "input_required");
    const waiting = await deaf.open("tasks/result", { taskId });
    await until(() => waiting.events.length, Boolean);
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(), yes);
    await Promise.all([stream.closed, waiting.closed]);
    expect(waiting.messages).toHaveLength(1);
    expect(waiting.messages[0].result.content[0].text).toContain("yes");
  });

  it("are asked again under another key, with what was wrong, when an answer does not fit", async () => {
    const client = await asOwner();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const stream = await client.open("tasks/result", { taskId });
    await client.answer(await stream.request(1), { action: "accept", content: { v: 5 } });
    const again = await stream.request(2);
    expect(again.params.message).toMatch(/^What is k1\?\n\n/);
    await client.answer(again, { action: "decline" });
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain('"decline"');
  });
});

describe("progress of a task", () => {
  const reporter = (values: readonly number[]) => {
    const { tool, open } = gate("reports", "optional");
    const reports = defineTool({
      name: "reports",
      description: "Reports when it is let.",
      input: z.object({}),
      task: "optional",
      async run(_, task) {
        await tool.run({}, task);
        for (const progress of values) {
          task.progress({ progress, total: 10, message: `at ${progress}` });
          // Longer than what is written at most, so that each value is.
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        return "reported";
      },
    });
    return { tool: reports, open };
  };

  it.each([0, "p1"])(
    "(P2, C5, A13) goes on under the token %j of the call, rises, and ends with the task",
    async (token) => {
      const { tool, open } = reporter([1, 2, 2, 1, 3]);
      const client = await asOwner([tool]);
      const { taskId } = await client.task("reports", {}, { _meta: { progressToken: token } });
      const stream = await client.open("tasks/result", { taskId });
      await until(() => stream.events.length, Boolean);
      open();
      await stream.closed;
      const told = progressOf(stream);
      expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3]);
      for (const params of told) {
        expect(params.progressToken).toStrictEqual(token);
        expect(params._meta).toEqual({ [RELATED]: { taskId } });
        expect(params.total).toBe(10);
      }
      expect(stream.messages.at(-1)).toHaveProperty("result");
    },
  );

  it("(A13) is not told of a call without a token", async () => {
    const { tool, open } = reporter([1]);
    const client = await asOwner([tool]);
    const { taskId } = await client.task("reports");
    const stream = await client.open("tasks/result", { taskId });
    await until(() => stream.events.length, Boolean);
    open();
    await stream.closed;
    expect(progressOf(stream)).toEqual([]);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("completed");
  });

  it("(N3, P2) goes out on one stream, of several that wait", async () => {
    const { tool, open } = reporter([1, 2]);
    const client = await asOwner([tool]);
    const { taskId } = await client.task("reports", {}, { _meta: { progressToken: 1 } });
    const streams = await Promise.all([1, 2].map(() => client.open("tasks/result", { taskId })));
    await until(() => streams.every(({ events }) => events.length > 0), Boolean);
    open();
    await Promise.all(streams.map(({ closed }) => closed));
    expect(streams.map((stream) => progressOf(stream).length).sort()).toEqual([0, 2]);
  });

  it("(P4) is told at a bounded rate, and the newest is not lost to those who ask", async () => {
    const { tool, began, open } = gate("busy", "optional");
    const busy = defineTool({
      name: "busy",
      description: "Reports without pause.",
      input: z.object({}),
      task: "optional",
      async run(_, task) {
        for (let progress = 1; progress <= 1_000; progress += 1) task.progress({ progress, total: 1_000 });
        await tool.run({}, task);
        return "done";
      },
    });
    const client = await asOwner([busy]);
    const { taskId } = await client.task("busy", {}, { _meta: { progressToken: 1 } });
    const stream = await client.open("tasks/result", { taskId });
    await began;
    await until(
      async () => (await client.call("tasks/get", { taskId })).result.statusMessage,
      (message) => message !== undefined && message !== "0%",
    );
    open();
    await stream.closed;
    expect(progressOf(stream).length).toBeLessThan(10);
  });
});
