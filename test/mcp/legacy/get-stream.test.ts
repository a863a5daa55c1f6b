import { describe, expect, it } from "vitest";
import * as z from "zod";
import { mintSession } from "../../../src/mcp/legacy/session";
import { createSealer } from "../../../src/seal";
import { TaskError } from "../../../src/task/errors";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect, type EventReader, type LegacyClient } from "../../support/legacy";
import { serve, until, type Wire, withTasks } from "../../support/mcp";

const forms = { elicitation: {} };
const RELATED = "io.modelcontextprotocol/related-task";
const STATUS = "notifications/tasks/status";
const yes = { action: "accept", content: { v: "yes" } };

const owners = ["a", "b"];
/** A client has heard of its task after so long, and may be asked. */
const limits = { pollIntervalMs: 20 };
const statuses = (stream: EventReader): string[] =>
  stream.messages.filter(({ method }) => method === STATUS).map(({ params }) => params.status);
/** Whatever was on its way has come: a change made now is seen after it. */
async function settled(client: LegacyClient, stream: EventReader): Promise<void> {
  const { taskId } = await client.task("slow", { ms: 0 });
  await stream.until(
    ({ method, params }) => method === STATUS && params.taskId === taskId && params.status === "completed",
  );
}

describe("the stream of a session", () => {
  it("(1.13) begins on 2025-11-25 with an event that has an id, no data, and how soon to come back", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const stream = await client.listen();
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
    await until(() => stream.events.length, Boolean);
    expect(stream.events[0]).toEqual({ data: "", id: expect.stringMatching(/^[\w-]{8,}\.0$/), retry: 1_000 });
    await stream.leave();
  });

  it.each(["2025-06-18", "2025-03-26"])("begins without one on %s, whose clients would stumble", async (version) => {
    const telling = { toolListChanges: () => once() };
    const client = await connect(await serve(fixtureTools, telling), { version });
    const stream = await client.listen();
    await stream.notification("notifications/tools/list_changed");
    expect(stream.events).toHaveLength(1);
    await stream.leave();
  });

  it("needs a session", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.get({ "Mcp-Session-Id": null })).status).toBe(400);
    expect((await client.get({ "Mcp-Session-Id": "dead" })).status).toBe(404);
    expect((await client.get({ "MCP-Protocol-Version": "1999-13-40" })).status).toBe(400);
    const head = await client.served.app.request("http://localhost/mcp", { method: "HEAD", headers: client.headers() });
    expect(head.status).toBe(405);
  });

  it("is refused by status where it cannot be had", async () => {
    const changes = () => {
      throw new TaskError("limit_reached", "MAX_STREAMS_PER_OWNER (50) is reached.", { value: 50 });
    };
    const served = await serve(fixtureTools, { owners, deps: { tasks: { changes, occupy: async () => {} } as Wire } });
    const response = await (await connect(served, { token: "a" })).get();
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({ error: { code: 42900 } });
  });

  it("ends with its session", async () => {
    const client = await connect(await serve(fixtureTools, { toolListChanges: () => once() }));
    const week = 604_800_000;
    const clock = (): number => Date.now() - week + 1_000;
    const sealer = createSealer(async () => "a secret for tests, thirty-two bytes", clock);
    const mint = { sealer, clock } as Wire;
    client.sessionId = await mintSession(mint, { kind: "anonymous" }, "2025-11-25", {});
    const stream = await client.listen();
    await stream.notification("notifications/tools/list_changed");
    await stream.closed;
    expect((await client.get()).status).toBe(404);
  });

  it("tells that the list of tools has changed, with an id that names the stream", async () => {
    const client = await connect(await serve(fixtureTools, { toolListChanges: () => once() }));
    const stream = await client.listen();
    await stream.notification("notifications/tools/list_changed");
    const [first, second] = stream.events;
    expect(second?.id).toBe(first?.id?.replace(/0$/, "1"));
    await stream.leave();
  });
});

describe("status of the owner's tasks", () => {
  it("(P1) is told with the whole task and no related-task", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const stream = await client.listen();
    const { taskId } = await client.task("slow", { ms: 10 });
    const { params } = await stream.until(({ method, params }) => method === STATUS && params.status === "completed");
    expect(params).toEqual((await client.call("tasks/get", { taskId })).result);
    expect(params).not.toHaveProperty("_meta");
    await stream.leave();
  });

  it("is of the owner's tasks alone, from every session and era", async () => {
    const served = await serve(fixtureTools, { owners });
    const client = await connect(served, { token: "a" });
    const stranger = await connect(served, { token: "b" });
    const stream = await client.listen();
    await settled(client, stream);
    await stranger.task("slow", { ms: 0 });
    const other = await (await client.again()).task("slow", { ms: 0 });
    await stream.until(({ params }) => params?.taskId === other.taskId && params.status === "completed");
    const mine = (await client.call("tasks/list")).result.tasks.map(({ taskId }: Wire) => taskId);
    for (const { params } of stream.messages) expect(mine).toContain(params.taskId);
    await stream.leave();
  });

  it("is told on one stream of a session: the newest, and when that is left an older one again", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const older = await client.listen();
    await settled(client, older);
    const before = older.messages.length;
    const newer = await client.listen();
    await settled(client, newer);
    expect(older.messages).toHaveLength(before);
    await newer.leave();
    await until(
      async () => (await client.task("slow", { ms: 0 })) && older.messages.length,
      (count) => count > before,
    );
    await older.leave();
  });

  it("is not told on revisions that know no tasks", async () => {
    const served = await serve(fixtureTools, { owners });
    const client = await connect(served, { token: "a", version: "2025-06-18", capabilities: forms });
    const stream = await client.listen();
    await client.tool("slow", { ms: 0 });
    const call = await client.open("tools/call", { name: "ask", arguments: { keys: ["k1"] } });
    await client.answer(await call.request(), yes);
    await call.closed;
    expect(stream.messages).toEqual([]);
    await stream.leave();
  });
});

describe("a stream that is taken up again", () => {
  it("(1.13) has what it missed, once, and only what was its own", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const first = await client.listen();
    await settled(client, first);
    const other = await client.listen();
    await settled(client, other);
    const at = first.events.findIndex(({ id }) => id?.endsWith(".1"));
    const last = first.events[at];
    await first.leave();
    const again = await client.listen({ "Last-Event-ID": last?.id ?? "" });
    const missed = first.events.slice(at + 1);
    await until(
      () => again.events.length,
      (count) => count > missed.length,
    );
    expect(again.events.slice(1, missed.length + 1)).toEqual(missed);
    await settled(client, again);
    const ids = again.events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const name = last?.id?.split(".")[0];
    for (const id of ids) expect(id?.split(".")[0]).toBe(name);
    await Promise.all([again.leave(), other.leave()]);
  });

  it.each(["nonsense", "unknown.3", "x.-1", ""])("begins anew after %j", async (id) => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const stream = await client.listen({ "Last-Event-ID": id });
    await settled(client, stream);
    expect(stream.events[0]?.id).toMatch(/\.0$/);
    await stream.leave();
  });

  it("gives nothing of another session's", async () => {
    const client = await connect(await serve(fixtureTools, { owners }), { token: "a" });
    const stream = await client.listen();
    await settled(client, stream);
    const other = await client.again();
    const taken = await other.listen({ "Last-Event-ID": stream.events[0]?.id ?? "" });
    await until(() => taken.events.length, Boolean);
    expect(taken.events[0]?.id).not.toBe(stream.events[0]?.id);
    expect(taken.messages).toEqual([]);
    await Promise.all([stream.leave(), taken.leave()]);
  });
});

describe.each<[string, readonly string[] | undefined]>([
  ["an owner", owners],
  ["an anonymous caller", undefined],
])("questions of the tasks of %s", (_, owned) => {
  const begin = async (capabilities: object = forms) => {
    const served = await serve(fixtureTools, { limits, ...(owned ? { owners: owned } : {}) });
    return connect(served, { capabilities, ...(owned ? { token: "a" } : {}) });
  };

  it("(A12, N3) come on the stream of the session when nobody asks for the result", async () => {
    const client = await begin();
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const question = await stream.request();
    expect(question).toMatchObject({ method: "elicitation/create", params: { _meta: { [RELATED]: { taskId } } } });
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
    expect((await client.answer(question, yes)).status).toBe(202);
    expect((await client.poll(taskId, "completed")).status).toBe("completed");
    expect((await client.call("tasks/result", { taskId })).result.content[0].text).toContain("yes");
    await stream.leave();
  });

  it("(N3) come also when they were asked before the stream was there", async () => {
    const client = await begin();
    const { taskId } = await client.task("ask", { keys: ["k1", "k2"] });
    await client.poll(taskId, "input_required");
    const stream = await client.listen();
    await stream.request(2);
    const asked = stream.messages.filter(({ method }) => method === "elicitation/create");
    expect(asked.map(({ params }) => params.message)).toEqual(["What is k1?", "What is k2?"]);
    await client.answer(asked[0], yes);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
    await client.answer(asked[1], yes);
    await client.poll(taskId, "completed");
    await stream.leave();
  });

  it("(N7) come again on the next stream with another id, and either may be answered", async () => {
    const client = await begin();
    const { taskId } = await client.task("ask", { keys: ["k1", "k2"] });
    const first = await client.listen();
    const [one, two] = [await first.request(1), await first.request(2)];
    await client.answer(one, yes);
    await first.leave();
    const second = await client.listen();
    const again = await second.request();
    expect(again.params).toEqual(two.params);
    expect(again.id).not.toBe(two.id);
    await client.answer(two, { action: "accept", content: { v: "first" } });
    expect((await client.answer(again, { action: "accept", content: { v: "second" } })).status).toBe(202);
    await client.poll(taskId, "completed");
    const { content } = (await client.call("tasks/result", { taskId })).result;
    expect(content[0].text).toContain("first");
    await second.leave();
  });

  it("(N3) come on one stream, of several that are open", async () => {
    const client = await begin();
    const streams = [await client.listen(), await client.listen(), await client.listen()];
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    await client.poll(taskId, "input_required");
    const question = await Promise.race(streams.map((stream) => stream.request()));
    await client.answer(question, yes);
    await client.poll(taskId, "completed");
    const asked = streams.flatMap(({ messages }) => messages.filter(({ id }) => id !== undefined));
    expect(asked).toHaveLength(1);
    await Promise.all(streams.map((stream) => stream.leave()));
  });

  it("(F04) are not answered by a stranger, with or without a session", async () => {
    const client = await begin();
    const stranger = await connect(client.served, { ...client.options, ...(owned ? { token: "b" } : {}) });
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const question = await stream.request();
    const evil = { jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { v: "evil" } } };
    expect((await stranger.post(evil)).status).toBe(202);
    expect((await stranger.post(evil, { headers: { "Mcp-Session-Id": null } })).status).toBe(202);
    expect((await stranger.post(evil, { headers: { "Mcp-Session-Id": client.sessionId } })).status).toBe(
      owned ? 404 : 202,
    );
    if (!owned) return;
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
    await stream.leave();
  });

  it("count an error for an answer as cancel", async () => {
    const client = await begin();
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    await client.refuse(await stream.request());
    await client.poll(taskId, "completed");
    expect((await client.call("tasks/result", { taskId })).result.content[0].text).toContain('"cancel"');
    await stream.leave();
  });
});

describe("questions and sessions", () => {
  it("(N6) are answered from another session of the owner, after the first is gone", async () => {
    const client = await connect(await serve(fixtureTools, { owners, limits }), { token: "a", capabilities: forms });
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const question = await stream.request();
    await stream.leave();
    const later = await client.again();
    await later.answer(question, yes);
    await later.poll(taskId, "completed");
  });

  it("(N6) are answered by an anonymous caller only from the session that was asked", async () => {
    const client = await connect(await serve(fixtureTools, { limits }), { capabilities: forms });
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const question = await stream.request();
    await (await client.again()).answer(question, yes);
    expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
    await client.answer(question, yes);
    await client.poll(taskId, "completed");
    await stream.leave();
  });

  it("go to the session that made the task, not to another that listens", async () => {
    const client = await connect(await serve(fixtureTools, { owners, limits }), { token: "a", capabilities: forms });
    const other = await client.again();
    const elsewhere = await other.listen();
    const stream = await client.listen();
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    await client.answer(await stream.request(), yes);
    await elsewhere.until(({ params }) => params?.taskId === taskId && params.status === "completed");
    expect(elsewhere.messages.every(({ id }) => id === undefined)).toBe(true);
    await Promise.all([stream.leave(), elsewhere.leave()]);
  });

  it("go to another session of the owner once nobody came for them", async () => {
    const client = await connect(await serve(fixtureTools, { owners, limits }), { token: "a", capabilities: forms });
    const { taskId } = await client.task("ask", { keys: ["k1"] });
    const other = await client.again();
    const stream = await other.listen();
    await other.answer(await stream.request(), yes);
    await other.poll(taskId, "completed");
    await stream.leave();
  });

  it(
    "are not given up where another session refuses them, which does not know the task",
    { timeout: 15_000 },
    async () => {
      const client = await connect(await serve(fixtureTools, { owners, limits }), { token: "a", capabilities: forms });
      const { taskId } = await client.task("ask", { keys: ["k1"] });
      const other = await client.again();
      const stream = await other.listen();
      const question = await stream.request();
      await other.refuse(question);
      expect((await client.call("tasks/get", { taskId })).result.status).toBe("input_required");
      await client.answer(question, yes);
      await client.poll(taskId, "completed");
      await stream.leave();
    },
  );

  it.each([
    ["of another session", (client: LegacyClient) => client.task("ask", { keys: ["k1"] })],
    [
      "that was made without one",
      async ({ served }: LegacyClient) => {
        const started = { token: "a", capabilities: { ...forms, ...withTasks } };
        return (await served.tool("ask", { keys: ["k1"] }, started)).result;
      },
    ],
  ])("are given up where whoever waits for the result of a task %s refuses them", async (_, start) => {
    const client = await connect(await serve(fixtureTools, { owners, limits }), { token: "a", capabilities: forms });
    const { taskId } = await start(client);
    const later = await client.again();
    const waiting = await later.open("tasks/result", { taskId });
    await later.refuse(await waiting.request());
    await waiting.closed;
    expect(waiting.messages.at(-1).result.content[0].text).toContain('"cancel"');
  });

  it("wait until the client has heard of the task: its answer comes on another connection", async () => {
    const slowly = { owners, limits: { pollIntervalMs: 400 } };
    const client = await connect(await serve(fixtureTools, slowly), { token: "a", capabilities: forms });
    const stream = await client.listen();
    const { taskId, createdAt } = await client.task("ask", { keys: ["k1"] });
    await stream.request();
    expect(Date.now() - Date.parse(createdAt)).toBeGreaterThanOrEqual(390);
    await client.call("tasks/cancel", { taskId });
    await stream.leave();
  });

  it("of a held call that became a task come on the stream of the session, on older revisions too", async () => {
    const { tool, open } = askLater();
    const served = await serve([tool], { owners, limits, config: { inlineWaitMs: 20 } });
    const client = await connect(served, { token: "a", version: "2025-06-18", capabilities: forms });
    const stream = await client.listen();
    const { taskId } = (await client.tool("later")).result._meta["dev.holdfast/task"];
    open();
    await client.answer(await stream.request(), yes);
    const ended = await until(
      () => client.tool("task_result", { taskId }),
      ({ result }) => result._meta === undefined,
    );
    expect(ended.result.content[0].text).toContain("yes");
    await stream.leave();
  });
});

describe("progress on the stream of the session", () => {
  it("(P2) has the token of the call that made the task, and says which task it is", async () => {
    const { tool, open } = reporter();
    const client = await connect(await serve([tool], { owners, limits }), { token: "a" });
    const stream = await client.listen();
    const { taskId } = await client.task("reports", {}, { _meta: { progressToken: 0 } });
    // Only what comes after the stream knows of the task is told on it.
    await stream.until(({ params }) => params?.taskId === taskId);
    open();
    await client.poll(taskId, "completed");
    await settledStatus(stream, taskId);
    const told = stream.messages
      .filter(({ method }) => method === "notifications/progress")
      .map(({ params }) => params);
    expect(told.length).toBeGreaterThan(0);
    for (const params of told) expect(params).toMatchObject({ progressToken: 0, _meta: { [RELATED]: { taskId } } });
    const values = told.map(({ progress }) => progress);
    expect([...values].sort((a, b) => a - b)).toEqual(values);
    expect(statuses(stream).at(-1)).toBe("completed");
    await stream.leave();
  });

  it("(P2) grows from one stream to the next also where the tool gives no number", async () => {
    const ticking = defineTool({
      name: "ticks",
      description: "Says that it goes on.",
      input: z.object({}),
      task: "optional",
      async run(_, task) {
        for (let n = 0; ; n += 1) {
          task.progress({ message: `tick ${n}` });
          await new Promise((resolve, reject) => {
            task.signal.addEventListener("abort", reject, { once: true });
            setTimeout(resolve, 20);
          });
        }
      },
    });
    const client = await connect(await serve([ticking], { owners, limits }), { token: "a" });
    const { taskId } = await client.task("ticks", {}, { _meta: { progressToken: 0 } });
    const values: number[] = [];
    for (let n = 0; n < 2; n += 1) {
      const stream = await client.listen();
      await stream.notification("notifications/progress", 2);
      await stream.leave();
      const told = stream.messages.filter(({ method }) => method === "notifications/progress");
      values.push(...told.map(({ params }) => params.progress));
    }
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    await client.call("tasks/cancel", { taskId });
  });

  it("(P2) is not told in a session that did not give the token", async () => {
    const { tool, open } = reporter();
    const client = await connect(await serve([tool], { owners, limits }), { token: "a" });
    const stream = await (await client.again()).listen();
    const { taskId } = await client.task("reports", {}, { _meta: { progressToken: 0 } });
    await stream.until(({ params }) => params?.taskId === taskId);
    open();
    await settledStatus(stream, taskId);
    expect(stream.messages.every(({ method }) => method === STATUS)).toBe(true);
    await stream.leave();
  });
});

const settledStatus = (stream: EventReader, taskId: string): Promise<Wire> =>
  stream.until(({ method, params }) => method === STATUS && params.taskId === taskId && params.status === "completed");

async function* once(): AsyncGenerator<void> {
  yield;
  await new Promise(() => {});
}

/** Asks only when it is let. */
function askLater() {
  const { tool, open } = gate("later", "optional");
  const asks = defineTool({
    name: "later",
    description: "Asks later.",
    input: z.object({}),
    task: "optional",
    async run(_, task) {
      await tool.run({}, task);
      const schema = { type: "object", properties: { v: { type: "string" } } };
      return JSON.stringify(await task.ask({ q: { kind: "form", message: "Now?", schema } }));
    },
  });
  return { tool: asks, open };
}

function reporter() {
  const { tool, open } = gate("reports", "optional");
  const reports = defineTool({
    name: "reports",
    description: "Reports when it is let.",
    input: z.object({}),
    task: "optional",
    async run(_, task) {
      await tool.run({}, task);
      for (let progress = 1; progress <= 3; progress += 1) {
        task.progress({ progress, total: 3 });
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      return "reported";
    },
  });
  return { tool: reports, open };
}
