// What the contract of Toolnexus' task store comes to over A2A: T1-T12 of the store contracts, as its clients see them.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { a2aWire, heardIn, saidBy, skill, stateOf, textOf, type A2aWire } from "./a2a-wire";
import { form, takeWork } from "./a2a-worker";

let server: DevServer;
/** As Toolnexus speaks, as A2A 1.0 has it, and as another owner. */
let old: A2aWire;
let modern: A2aWire;
let other: A2aWire;
beforeAll(async () => {
  server = await startDevServer({ env: "owners", vars: { TASK_POLL_INTERVAL_MS: "250" } });
  [old, modern, other] = [a2aWire(server, "mixed"), a2aWire(server), a2aWire(server, "mixed", "owner-b")];
});
afterAll(() => server.stop());

const codeOf = async (answer: Promise<Wire>): Promise<number | undefined> => (await answer).error?.code;

describe("the dialect of Toolnexus", () => {
  it("finds the agent by a card with the fields it reads (T10)", async () => {
    const response = await fetch(`${server.url}/.well-known/agent-card.json`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    const card = (await response.json()) as Wire;
    expect(card).toMatchObject({
      name: expect.any(String),
      description: expect.any(String),
      version: expect.any(String),
      protocolVersion: "0.3",
      url: `${server.url}/a2a`,
      capabilities: { streaming: true, pushNotifications: true },
      defaultInputModes: expect.arrayContaining(["text/plain"]),
    });
    expect(card.skills).toContainEqual(expect.objectContaining({ id: "slow", description: expect.any(String) }));
  });

  it("gets the bare task at once, in the shapes of 0.3 and lower case, on 200 (T6, T10)", async () => {
    const response = await old.request("SendMessage", old.sending({ content: skill("slow", { ms: 60_000 }) }, false));
    expect(response.status).toBe(200);
    const { jsonrpc, id, result } = (await response.json()) as Wire;
    expect({ jsonrpc, id }).toEqual({ jsonrpc: "2.0", id: 1 });
    expect(result).toMatchObject({ kind: "task", id: expect.any(String), status: { state: "submitted" } });
    expect(result.history[0]).toMatchObject({ role: "user", parts: [{ kind: "data" }] });
    expect(stateOf(await old.call("CancelTask", { id: result.id }))).toBe("canceled");
  });

  it("finds what is not there, and what nobody serves, by its code on 200 (T2, T10)", async () => {
    for (const [method, params, code] of [
      ["GetTask", { id: "A".repeat(43) }, -32001],
      ["CancelTask", { id: "A".repeat(43) }, -32001],
      ["SendMessage", old.sending({ content: "hi", taskId: "A".repeat(43) }, false), -32001],
      ["NoSuchMethod", {}, -32601],
      ["GetTask", {}, -32602],
    ] as const) {
      const response = await old.request(method, params);
      expect([method, response.status]).toEqual([method, 200]);
      expect(await response.json()).toMatchObject({
        jsonrpc: "2.0",
        id: 1,
        error: { code, message: expect.any(String) },
      });
    }
    const broken = await old.post('{"jsonrpc":');
    expect(broken.status).toBe(200);
    expect(await broken.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32700 } });
  });

  it("takes any text for an id, and finds exactly that (T9)", async () => {
    const { id } = await old.begin("slow", { ms: 60_000 });
    const odd = [
      "t/1",
      "t_1",
      "../t",
      "%2e%2e",
      "t\u0000",
      "ü",
      "__proto__",
      " ",
      id.toUpperCase(),
      `${id} `,
      `${id}A`,
    ];
    for (const one of [...odd, id.slice(1), "x".repeat(10_000)])
      expect([one.slice(0, 50), await codeOf(old.answer("GetTask", { id: one }))]).toEqual([one.slice(0, 50), -32001]);
    for (const one of ["t%2F1", "..%2Ft", "__proto__", `${id}A`])
      expect((await modern.rest("GET", `/tasks/${one}`)).status).toBe(404);
    expect((await modern.rest("GET", `/tasks/${id}`)).status).toBe(200);
    await old.call("CancelTask", { id });
  });

  it("sees every state on the way to a result (T3, T5, T6)", async () => {
    const { id } = await old.begin("remote", { job: 1 });
    // By another client at the same time, too.
    for (const wire of [old, modern]) expect(stateOf(await wire.get(id))).toBe("submitted");
    const work = await takeWork(server);
    expect(work.taskId).toBe(id);
    expect(stateOf(await old.get(id))).toBe("working");
    await work.tell("progress", { progress: { message: "half way", progress: 1, total: 2 } });
    expect(saidBy(await old.get(id))).toBe("half way");
    await work.tell("ask", { questions: { q: form("Which one?") } });
    const asking = await old.get(id);
    expect([stateOf(asking), saidBy(asking), asking.artifacts]).toEqual(["input-required", "Which one?", undefined]);
    expect(asking.status.message).toMatchObject({ role: "agent", parts: [{ kind: "text", text: "Which one?" }, {}] });
    expect(stateOf(await old.send({ content: "that one", taskId: id }))).toBe("working");
    await work.tell("complete", { result: { content: [{ type: "text", text: "the result" }] } });
    const done = await old.get(id);
    expect([stateOf(done), textOf(done)]).toEqual(["completed", "the result"]);
    // Overwritten and not merged: of the question nothing is left but what was said (T1).
    expect(done.status.message).toBeUndefined();
    expect(heardIn(done).slice(1)).toEqual(["agent: Which one?", "user: that one"]);
    expect(await old.get(id)).toEqual(done);
  });

  it("sees a failure with what was wrong, and the server goes on (T1, T6)", async () => {
    const { id } = await old.begin("remote", { job: 2 });
    const work = await takeWork(server);
    await work.tell("fail", { error: { code: -32000, message: "It broke." }, retry: false });
    const failed = await old.get(id);
    expect([stateOf(failed), saidBy(failed), failed.artifacts]).toEqual(["failed", "It broke.", undefined]);
    for (const [args, state, text] of [
      [{ ms: 1, isError: true, text: "no" }, "failed", "no"],
      [{ ms: 1, rpcError: true, text: "nor this" }, "failed", "nor this"],
    ] as const) {
      const task = await old.begin("slow", args, { wait: true });
      expect([stateOf(task), saidBy(task)]).toEqual([state, text]);
    }
    expect((await fetch(`${server.url}/.well-known/agent-card.json`)).status).toBe(200);
  });

  it("reads one state or the next while a task changes, and never a bit of both (T4)", async () => {
    const { id } = await old.begin("ask", { keys: ["k"] });
    await old.until(id, "input-required");
    let isOver = false;
    const reading = async (): Promise<Wire[]> => {
      const seen: Wire[] = [];
      while (!isOver) seen.push(await old.get(id));
      return seen;
    };
    const readers = [reading(), reading()];
    const done = await old.send({ content: "blue", taskId: id }, { wait: true });
    // What was answered is what is read from then on, whoever reads.
    expect(stateOf(await modern.get(id))).toBe("completed");
    isOver = true;
    for (const task of [...(await Promise.all(readers)).flat(), done]) {
      const isDone = stateOf(task) === "completed";
      expect([isDone, textOf(task) !== "", heardIn(task).includes("user: blue")]).toEqual(
        stateOf(task) === "input-required" ? [false, false, false] : [isDone, isDone, true],
      );
    }
  });

  it("goes on with what asks by a message that names it, and nobody else's does (T12)", async () => {
    const { id, contextId } = await old.begin("ask", { keys: ["k"] }, { wait: true });
    const unknown = await other.answer("SendMessage", other.sending({ content: "red", taskId: "A".repeat(43) }, false));
    expect(unknown.error.code).toBe(-32001);
    for (const foreign of [
      other.answer("SendMessage", other.sending({ content: "red", taskId: id }, false)),
      other.answer("GetTask", { id }),
      other.answer("CancelTask", { id }),
    ])
      expect(await foreign).toEqual(unknown);
    // 0.3 has an event stream for each answer to this.
    expect(await (await other.request("SubscribeToTask", { id })).text()).toContain('"code":-32001');
    const done = await old.send({ content: "blue", taskId: id, more: { contextId } }, { wait: true });
    expect(done).toMatchObject({ id, contextId, status: { state: "completed" } });
    expect(textOf(done)).toContain("blue");
  });
});

describe("the same tasks under A2A 1.0", () => {
  it("are told in its own words to who says so, and to who says nothing in those of 0.3 (T11)", async () => {
    const { id } = await modern.begin("slow", { ms: 1, text: "hi" }, { wait: true });
    const [one, zero] = [await modern.get(id), await old.get(id)];
    expect([one.status.state, zero.status.state]).toEqual(["TASK_STATE_COMPLETED", "completed"]);
    expect([one.history[0].role, zero.history[0].role]).toEqual(["ROLE_USER", "user"]);
    expect([one.artifacts[0].parts[0].text, zero.artifacts[0].parts[0]]).toEqual(["hi", { kind: "text", text: "hi" }]);
    expect([one.kind, zero.kind]).toEqual([undefined, "task"]);
    expect(one.metadata).toEqual(zero.metadata);
    expect(await modern.call("GetTask", { id, historyLength: 0 })).not.toHaveProperty("history");
    expect((await modern.call("ListTasks", {})).tasks.map((task: Wire) => task.id)).toContain(id);
  });

  it("have their push targets refused where those are local, private or not https, before anything is stored (G09)", async () => {
    const before = (await modern.call("ListTasks", {})).totalSize;
    const { id: taskId } = await modern.begin("slow", { ms: 60_000 });
    for (const url of [
      "http://example.com/hook",
      "https://127.0.0.1/hook",
      "https://localhost/hook",
      "https://10.0.0.1/hook",
      "https://169.254.169.254/latest",
      "https://[::1]/hook",
      "https://metadata.internal/hook",
      "https://user:word@example.com/hook",
      "file:///etc/passwd",
    ]) {
      const config = { id: "mine", url };
      const sent = modern.sending({ content: skill("slow", { ms: 1 }) }, false, { taskPushNotificationConfig: config });
      const made = modern.answer("CreateTaskPushNotificationConfig", { taskId, ...config });
      expect([url, await codeOf(modern.answer("SendMessage", sent)), await codeOf(made)]).toEqual([
        url,
        -32602,
        -32602,
      ]);
    }
    expect((await modern.call("ListTaskPushNotificationConfigs", { taskId })).configs).toEqual([]);
    expect((await modern.call("ListTasks", {})).totalSize).toBe(before + 1);
    await modern.call("CancelTask", { id: taskId });
  });
});
