import { describe, expect, it, vi } from "vitest";
import { Channel, closeOnAbort } from "../../../src/service/channel";
import type { Principal } from "../../../src/service/principal";
import { defineTool, ProtocolError } from "../../../src/tool/define-tool";
import type { TaskContext } from "../../../src/tool/context";
import { listen } from "../../../src/mcp/2026-07-28/listen";
import {
  envelope,
  events,
  serve,
  SUBSCRIPTION_ID,
  TASKS,
  until,
  withEverything,
  type Served,
  type Wire,
} from "../../support/mcp";

const input = { type: "object" } as const;
const done = defineTool({ name: "done", description: "d", input, task: "required", run: () => "done" });
const failing = defineTool({
  name: "failing",
  description: "d",
  input,
  task: "required",
  run: () => Promise.reject(new ProtocolError(1, "No.")),
});
const forever = defineTool({
  name: "forever",
  description: "d",
  input,
  task: "required",
  run: () => new Promise<string>(() => {}),
});
const ask = defineTool({
  name: "ask",
  description: "d",
  input,
  task: "required",
  asks: ["form"],
  run: async (_args, { ask: put, progress }: TaskContext) => {
    progress({ progress: 1, total: 2, message: "half" });
    return JSON.stringify(
      await put({
        k: { kind: "form", message: "?", schema: { type: "object", properties: { v: { type: "string" } } } },
      }),
    );
  },
});
const all = [done, failing, forever, ask];

const options = { capabilities: withEverything };
const start = async (served: Served, name: string, over: object = options): Promise<string> =>
  (await served.tool(name, {}, over)).result.taskId;
const open = (served: Served, notifications: object, over: object = {}): Promise<Response> =>
  served.send("subscriptions/listen", { notifications }, { ...options, ...over });

async function messagesOf(response: Response): Promise<Wire[]> {
  const messages: Wire[] = [];
  for await (const message of events(response)) messages.push(message);
  return messages;
}

/** Reads on until a message is as wanted, and leaves the rest of the stream unread. */
async function reading(stream: AsyncGenerator<Wire>, wanted: (message: Wire) => boolean): Promise<Wire[]> {
  const messages: Wire[] = [];
  for (;;) {
    const { value, done: ended } = await stream.next();
    if (ended) throw new Error(`The stream ended after ${JSON.stringify(messages)}`);
    messages.push(value);
    if (wanted(value)) return messages;
  }
}

const get = async (served: Served, taskId: string, over: object = options): Promise<Wire> =>
  (await served.call("tasks/get", { taskId }, over)).result;
const settled = (served: Served, taskId: string): Promise<Wire> =>
  until(
    () => get(served, taskId),
    ({ status }) => status !== "working",
  );
/** What `tasks/get` says, as a notification carries it. */
const asNotified = ({ resultType: _, _meta, ...task }: Wire): Wire => task;

describe.each([
  ["an anonymous caller", {}, undefined],
  ["an owner", { owners: ["owner-a", "owner-b"] }, "owner-a"],
])("subscriptions/listen of %s", (_, setting, token) => {
  const over = token === undefined ? {} : { token };

  it("acknowledges first, then tells each task to its end, then ends (B02, golden)", async () => {
    const served = await serve(all, setting);
    const taskId = await start(served, "ask", { ...options, ...over });
    const response = await open(served, { taskIds: [taskId] }, { ...over, id: 12 });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const stream = events(response);
    const [ack, ...asked] = await reading(stream, ({ params }) => params?.status === "input_required");
    expect(ack).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { taskIds: [taskId] }, _meta: { [SUBSCRIPTION_ID]: 12 } },
    });
    expect(asked.at(-1).params).toEqual({
      ...asNotified(await get(served, taskId, { ...options, ...over })),
      _meta: { [SUBSCRIPTION_ID]: 12 },
    });
    await served.call(
      "tasks/update",
      { taskId, inputResponses: { k: { action: "decline" } } },
      { ...options, ...over },
    );
    const rest = await reading(stream, (message) => "result" in message);
    const last = rest.at(-2);
    expect(last.params).toEqual({
      ...asNotified(await get(served, taskId, { ...options, ...over })),
      _meta: { [SUBSCRIPTION_ID]: 12 },
    });
    expect(last.params).toMatchObject({ status: "completed", result: { resultType: "complete" } });
    expect(rest.at(-1)).toEqual({
      jsonrpc: "2.0",
      id: 12,
      result: {
        resultType: "complete",
        _meta: { [SUBSCRIPTION_ID]: 12, "io.modelcontextprotocol/serverInfo": expect.anything() },
      },
    });
    expect((await stream.next()).done).toBe(true);

    const told = [...asked, ...rest.slice(0, -1)];
    // Nothing but task notifications, each with the stream's id, never an older one after a newer.
    for (const message of told)
      expect([message.method, message.params._meta]).toEqual(["notifications/tasks", { [SUBSCRIPTION_ID]: 12 }]);
    const times = told.map(({ params }) => params.lastUpdatedAt);
    expect(times).toEqual([...times].sort());
  });

  it("leaves out what the caller may not see, without a word", async () => {
    const served = await serve(all, setting);
    const mine = await start(served, "forever", { ...options, ...over });
    const taskIds = ["x", mine, "__proto__", mine, "a".repeat(43)];
    if (token) taskIds.push(await start(served, "forever", { ...options, token: "owner-b" }));
    const [ack] = await reading(events(await open(served, { taskIds }, over)), () => true);
    expect(ack.params.notifications).toEqual({ taskIds: [mine] });
  });

  it("tells an expired task's end as a failure, last", async () => {
    vi.useFakeTimers();
    try {
      const served = await serve(all, { ...setting, limits: { ttlMs: 60_000 } });
      const taskId = await start(served, "forever", { ...options, ...over });
      const stream = events(await open(served, { taskIds: [taskId] }, over));
      await reading(stream, ({ params }) => params?.taskId === taskId);
      await vi.advanceTimersByTimeAsync(60_000);
      const rest = await reading(stream, (message) => "result" in message);
      expect(rest.at(-2)).toMatchObject({
        method: "notifications/tasks",
        params: { taskId, status: "failed", statusMessage: "No such task, or it has expired." },
      });
      const { error } = await served.call("tasks/get", { taskId }, { ...options, ...over });
      expect(rest.at(-2).params.error).toEqual(error);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("subscriptions/listen", () => {
  it("with taskIds is closed to who did not declare tasks, before any look-up (B02)", async () => {
    const served = await serve(all);
    const real = await start(served, "forever");
    for (const taskIds of [[real], ["x"], [], "not a list"]) {
      const response = await open(served, { taskIds }, { capabilities: {}, id: "l" });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        id: "l",
        error: { code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
      });
    }
  });

  it("without anything to tell acknowledges nothing and ends", async () => {
    const served = await serve(all);
    for (const notifications of [
      {},
      { taskIds: [] },
      { taskIds: ["x"] },
      { toolsListChanged: false, promptsListChanged: true, resourceSubscriptions: ["a:b"], later: 1 },
    ]) {
      const [ack, result, ...rest] = await messagesOf(await open(served, notifications));
      expect(ack.params).toEqual({ notifications: {}, _meta: { [SUBSCRIPTION_ID]: 1 } });
      expect(result).toMatchObject({ id: 1, result: { resultType: "complete" } });
      expect(rest).toEqual([]);
    }
  });

  it.each([0, "", "0", "listen-1"])("stamps its id %j on everything, in its own type (D03)", async (id) => {
    const served = await serve(all);
    const taskId = await start(served, "done");
    await settled(served, taskId);
    const messages = await messagesOf(await open(served, { taskIds: [taskId] }, { id }));
    expect(messages).toHaveLength(3);
    for (const { params, result } of messages) expect((params ?? result)._meta[SUBSCRIPTION_ID]).toBe(id);
    expect(messages.at(-1).id).toBe(id);
  });

  it("tells a failed task's error", async () => {
    const served = await serve(all);
    const taskId = await start(served, "failing");
    const messages = await messagesOf(await open(served, { taskIds: [taskId] }));
    expect(messages.at(-2).params).toMatchObject({ status: "failed", error: { code: 1, message: "No." } });
  });

  it.each<[string, object]>([
    ["no notifications", {}],
    ["notifications in a list", { notifications: [] }],
    ["taskIds that are no list", { notifications: { taskIds: "x" } }],
    ["taskIds that are no text", { notifications: { taskIds: [5] } }],
    ["a flag that is none", { notifications: { toolsListChanged: "yes" } }],
    ["more tasks than one stream follows", { notifications: { taskIds: Array.from({ length: 101 }, () => "x") } }],
  ])("with %s is -32602 in plain JSON", async (_, params) => {
    const response = await (await serve(all)).send("subscriptions/listen", params, options);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(((await response.json()) as Wire).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("params.notifications"),
    });
  });

  it("takes a hundred tasks", async () => {
    const taskIds = Array.from({ length: 100 }, () => "x");
    expect((await messagesOf(await open(await serve(all), { taskIds }))).at(-1)).toHaveProperty("result");
  });

  it("needs a client that takes streams", async () => {
    const response = await open(await serve(all), {}, { headers: { Accept: "application/json" } });
    expect(response.status).toBe(406);
  });

  it("tells changes of the tool list to who asked for them, and ends when the client leaves", async () => {
    const changes = new Channel<number>();
    const released = vi.fn();
    const toolListChanges = (signal: AbortSignal) => {
      closeOnAbort(changes, signal);
      signal.addEventListener("abort", released);
      return changes;
    };
    const served = await serve(all, { toolListChanges });
    const client = new AbortController();
    const stream = events(await open(served, { toolsListChanged: true }, { signal: client.signal, id: "x" }));
    const [ack] = await reading(stream, () => true);
    expect(ack.params.notifications).toEqual({ toolsListChanged: true });
    changes.push(1);
    expect(await reading(stream, () => true)).toEqual([
      { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta: { [SUBSCRIPTION_ID]: "x" } } },
    ]);
    client.abort();
    expect((await stream.next()).done).toBe(true);
    expect(released).toHaveBeenCalled();
  });

  it("goes on for the tool list when all tasks have settled", async () => {
    const changes = new Channel<number>();
    const served = await serve(all, { toolListChanges: () => changes });
    const taskId = await start(served, "done");
    await settled(served, taskId);
    const stream = events(await open(served, { toolsListChanged: true, taskIds: [taskId] }));
    await reading(stream, ({ params }) => params?.status === "completed");
    changes.push(1);
    expect(await reading(stream, ({ method }) => method === "notifications/tools/list_changed")).toHaveLength(1);
    changes.close();
    expect(await reading(stream, (message) => "result" in message)).toHaveLength(1);
  });

  it("keeps a quiet stream alive with comments", async () => {
    const changes = new Channel<number>();
    vi.useFakeTimers();
    try {
      const text = (
        await open(await serve(all, { toolListChanges: () => changes }), { toolsListChanged: true })
      ).text();
      await vi.advanceTimersByTimeAsync(31_000);
      changes.close();
      expect((await text).match(/^: keep-alive$/gm)).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("keeps several streams apart", async () => {
    const served = await serve(all);
    const taskId = await start(served, "ask");
    const streams = await Promise.all(
      [1, "two"].map(async (id) => ({ id, messages: messagesOf(await open(served, { taskIds: [taskId] }, { id })) })),
    );
    await until(
      () => get(served, taskId),
      ({ status }) => status === "input_required",
    );
    await served.call("tasks/update", { taskId, inputResponses: { k: { action: "cancel" } } }, options);
    for (const { id, messages } of streams) {
      for (const { params, result } of await messages) expect((params ?? result)._meta[SUBSCRIPTION_ID]).toBe(id);
    }
  });

  it("ends when the credential it was opened with expires", async () => {
    const served = await serve(all);
    const principal: Principal = {
      kind: "identified",
      issuer: "i",
      subject: "s",
      scopes: ["client"],
      expiresAt: 5_000,
    };
    const deps = {
      clock: () => 1_000,
      tools: { changes: (signal: AbortSignal) => closing(signal) },
      tasks: served.tasks,
    } as Wire;
    vi.useFakeTimers();
    try {
      const params = { notifications: { toolsListChanged: true }, _meta: envelope({}) } as Wire;
      const call = {
        id: 1,
        method: "subscriptions/listen",
        params,
        headers: new Headers(),
        principal,
        capabilities: {},
        unsafeNumbers: false,
        deps,
      };
      const conversation = await listen(call);
      const nobody = async () => {};
      const signal = new AbortController().signal;
      const ended = conversation.run({ signal, streams: true, notify: nobody, request: nobody, prime: () => {} });
      const first = await Promise.race([ended, vi.advanceTimersByTimeAsync(3_999).then(() => "open")]);
      expect(first).toBe("open");
      await vi.advanceTimersByTimeAsync(1);
      expect(JSON.parse(await ended)).toMatchObject({ resultType: "complete" });
    } finally {
      vi.useRealTimers();
    }
  });
});

function closing(signal: AbortSignal): Channel<number> {
  const channel = new Channel<number>();
  closeOnAbort(channel, signal);
  return channel;
}
