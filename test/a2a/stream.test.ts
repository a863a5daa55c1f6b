import { afterEach, describe, expect, it, vi } from "vitest";
import { A2aError } from "../../src/a2a/errors";
import type { Principal } from "../../src/service/principal";
import { notFound } from "../../src/task/errors";
import { eventsIn, message, oldMessage, openDoor, taskOf, type Wire } from "./a2a-door";

afterEach(() => vi.useRealTimers());

const task = (state = 2): Wire => ({ payload: { $case: "task", value: taskOf("t1", state) } });
const status = (state: number): Wire => ({
  payload: {
    $case: "statusUpdate",
    value: { taskId: "t1", contextId: "c1", status: taskOf("t1", state).status, metadata: undefined },
  },
});
const DONE = "TASK_STATE_COMPLETED";

/** The ways to follow a task: with how each is asked for, and what an event of it holds. */
const ways = (events: () => AsyncGenerator<Wire>) => {
  const door = openDoor({ sendMessageStream: events, resubscribe: events });
  const modern = { "A2A-Version": "1.0", "Content-Type": "application/json" };
  const rpc = (method: string, params: object) => door.rpc({ jsonrpc: "2.0", id: 7, method, params });
  const old = (method: string, params: object) =>
    door.rpc({ jsonrpc: "2.0", id: 7, method, params }, { "A2A-Version": null });
  const rest = (path: string, method: string, body?: object) =>
    door.request(`/a2a${path}`, { method, headers: modern, ...(body ? { body: JSON.stringify(body) } : {}) });
  return {
    door,
    SendStreamingMessage: () => rpc("SendStreamingMessage", { message: message() }),
    SubscribeToTask: () => rpc("SubscribeToTask", { id: "t1" }),
    "message/stream": () => old("message/stream", { message: oldMessage() }),
    "tasks/resubscribe": () => old("tasks/resubscribe", { id: "t1" }),
    "POST /message:stream": () => rest("/message:stream", "POST", { message: message() }),
    "GET /tasks/t1:subscribe": () => rest("/tasks/t1:subscribe", "GET"),
    "POST /tasks/t1:subscribe": () => rest("/tasks/t1:subscribe", "POST"),
  };
};
type Way = Exclude<keyof ReturnType<typeof ways>, "door">;

const RPC: readonly Way[] = ["SendStreamingMessage", "SubscribeToTask"];
const OLD: readonly Way[] = ["message/stream", "tasks/resubscribe"];
const REST: readonly Way[] = ["POST /message:stream", "GET /tasks/t1:subscribe", "POST /tasks/t1:subscribe"];

async function* life(): AsyncGenerator<Wire> {
  yield task();
  yield status(3);
}

describe("a stream", () => {
  it.each([...RPC, ...OLD, ...REST])("has headers that no proxy holds back or stores: %s (P01)", async (way) => {
    const response = await ways(life)[way]();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("cache-control")).toMatch(/^no-cache\b/);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("connection")).toBeNull();
    await response.text();
  });

  it.each(RPC)("of %s has each event as a response to the request", async (way) => {
    expect(await eventsIn(await ways(life)[way]())).toMatchObject([
      ["message", { jsonrpc: "2.0", id: 7, result: { task: { id: "t1", status: { state: "TASK_STATE_WORKING" } } } }],
      ["message", { id: 7, result: { statusUpdate: { taskId: "t1", status: { state: DONE } } } }],
    ]);
  });

  it.each(OLD)("of %s is written as 0.3 writes it", async (way) => {
    expect(await eventsIn(await ways(life)[way]())).toMatchObject([
      ["message", { jsonrpc: "2.0", id: 7, result: { kind: "task", id: "t1", status: { state: "working" } } }],
      ["message", { id: 7, result: { kind: "status-update", status: { state: "completed" }, final: true } }],
    ]);
  });

  it.each(REST)("of %s has the events bare", async (way) => {
    const events = await eventsIn(await ways(life)[way]());
    expect(events).toMatchObject([
      ["message", { task: { id: "t1" } }],
      ["message", { statusUpdate: { status: { state: DONE } } }],
    ]);
    expect(Object.keys(events[0]?.[1])).toEqual(["task"]);
  });

  it("says in 0.3 that it ends where the task waits for an answer, but not to who subscribed", async () => {
    async function* waiting(): AsyncGenerator<Wire> {
      yield task();
      yield status(6);
    }
    const finals = async (way: Way) =>
      (await eventsIn(await ways(waiting)[way]())).map(([, data]) => data.result.final);
    expect(await finals("message/stream")).toEqual([undefined, true]);
    expect(await finals("tasks/resubscribe")).toEqual([undefined, false]);
  });
});

describe("an error before the first event", () => {
  const refusing = (thrown: unknown) =>
    // oxlint-disable-next-line require-yield
    ways(async function* (): AsyncGenerator<Wire> {
      throw thrown;
    });

  it.each([...RPC, "message/stream" as const])("is a plain answer: %s (G03)", async (way) => {
    const response = await refusing(new A2aError("unsupported", "It has ended."))[way]();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32004, message: "It has ended." } });
  });

  it.each(REST)("is a plain answer with its status: %s", async (way) => {
    const response = await refusing(notFound())[way]();
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/a2a+json"]);
    expect(await response.json()).toMatchObject({ error: { code: 404 } });
  });

  it("is an event where 0.3 resubscribes", async () => {
    const response = await refusing(notFound())["tasks/resubscribe"]();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await eventsIn(response)).toMatchObject([["error", { jsonrpc: "2.0", id: 7, error: { code: -32001 } }]]);
  });
});

describe("an error on the way", () => {
  const breaking = () =>
    ways(async function* (): AsyncGenerator<Wire> {
      yield task();
      throw new Error("a secret detail");
    });

  it.each([...RPC, ...OLD])("is the last event: %s", async (way) => {
    const of = breaking();
    const events = await eventsIn(await of[way]());
    expect(events.map(([type]) => type)).toEqual(["message", "error"]);
    expect(events[1]?.[1]).toMatchObject({ jsonrpc: "2.0", id: 7, error: { code: -32603 } });
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(JSON.stringify(of.door.log)).toContain("a secret detail");
  });

  it.each(REST)("is the last event, in the words of the binding: %s", async (way) => {
    const events = await eventsIn(await breaking()[way]());
    expect(events[1]).toMatchObject(["error", { error: { code: 500, status: "INTERNAL" } }]);
  });
});

describe("who follows", () => {
  /** Events without an end, and what became of them. */
  function endless(principal?: Principal) {
    let closed = (): void => {};
    const over = new Promise<void>((resolve) => (closed = resolve));
    const signals: AbortSignal[] = [];
    const door = openDoor(
      {
        async *resubscribe(_: Wire, { signal }) {
          signals.push(signal);
          try {
            yield task();
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            yield status(3);
          } finally {
            closed();
          }
        },
      },
      principal ? { principal } : {},
    );
    return { door, over, signals };
  }

  it("may leave: the events are closed, and nobody is troubled", async () => {
    const { door, over, signals } = endless();
    const response = await door.rpc({ jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id: "t1" } });
    await response.body?.cancel();
    await over;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(door.log).toEqual([]);
  });

  it("may have left before there is anything", async () => {
    const { door, over } = endless();
    const leaving = new AbortController();
    const asked = door.rpc(
      { jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id: "t1" } },
      {},
      { signal: leaving.signal },
    );
    leaving.abort();
    await asked;
    await over;
    expect(door.log).toEqual([]);
  });

  it.each(["/a2a", "/a2a/tasks/t1:subscribe"])("may have left when it fails: %s", async (path) => {
    let fail = (_: unknown): void => {};
    const failing = new Promise((_, reject) => (fail = reject));
    const door = openDoor({
      // oxlint-disable-next-line require-yield
      async *resubscribe() {
        await failing;
      },
    });
    const leaving = new AbortController();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id: "t1" } });
    const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
    const asked = door.request(path, {
      method: "POST",
      headers,
      signal: leaving.signal,
      ...(path === "/a2a" ? { body } : {}),
    });
    await vi.waitFor(() => expect(door.handled).toHaveLength(1));
    leaving.abort();
    fail(new Error("left"));
    expect([(await asked).status, door.log]).toEqual([499, []]);
  });

  it.each(["/a2a", "/a2a/tasks/t1:subscribe"])("hears no more when the credential has expired: %s", async (path) => {
    vi.useFakeTimers();
    const principal: Principal = {
      kind: "identified",
      issuer: "https://login.example",
      subject: "ann",
      scopes: ["client"],
      expiresAt: Date.now() + 60_000,
    };
    const { door, over } = endless(principal);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id: "t1" } });
    const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
    const response = await door.request(path, { method: "POST", headers, ...(path === "/a2a" ? { body } : {}) });
    const text = response.text();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await text).toContain('"TASK_STATE_WORKING"');
    await over;
  });

  it("hears from a quiet stream within 15 seconds (P01)", async () => {
    vi.useFakeTimers();
    const { door } = endless();
    const response = await door.rpc({ jsonrpc: "2.0", id: 7, method: "SubscribeToTask", params: { id: "t1" } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect([await next(), await next()]).toEqual([": open\n\n", expect.stringMatching(/^data: /)]);
    const comment = next();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await comment).toMatch(/^: /);
    await reader.cancel();
  });
});
