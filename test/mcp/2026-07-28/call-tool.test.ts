import { describe, expect, it, vi } from "vitest";
import { defineTool, ProtocolError, ToolError, type TaskSupport } from "../../../src/tool/define-tool";
import type { Principal } from "../../../src/service/principal";
import type { TaskService } from "../../../src/service/task-service";
import type { TaskContext } from "../../../src/tool/context";
import {
  envelope,
  events,
  headersFor,
  only,
  serve,
  TASKS,
  until,
  withEverything,
  withTasks,
  type Wire,
} from "../../support/mcp";

const input = { type: "object", properties: { n: { type: "integer" } } } as const;

/** A tool whose run is the test's own. */
const tool = (run: (args: Wire, task: TaskContext) => unknown, task: TaskSupport = "forbidden", more: object = {}) =>
  defineTool({ name: "t", description: "Under test.", input, task, run: run as never, ...more });

/** A run that goes on when the test says so. */
function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

const messagesOf = async (response: Response): Promise<Wire[]> => {
  const messages: Wire[] = [];
  for await (const message of events(response)) messages.push(message);
  return messages;
};

describe("what a call may refuse", () => {
  it("an unknown tool is -32602, and so is one named like a part of JavaScript", async () => {
    const served = await serve([]);
    for (const name of ["missing", "constructor", "__proto__"]) {
      const response = await served.send("tools/call", { name });
      expect([response.status, ((await response.json()) as Wire).error.code]).toEqual([200, -32602]);
    }
  });

  it.each<[string, Wire]>([
    ["arguments in a list", { arguments: [] }],
    ["arguments null", { arguments: null }],
    ["inputResponses null", { inputResponses: null }],
    ["inputResponses in a list", { inputResponses: [] }],
    ["requestState that is no string", { requestState: 5 }],
  ])("%s is -32602 with a sentence that names it", async (_, params) => {
    const { error } = await (await serve([tool(() => "no")])).call("tools/call", { name: "t", ...params });
    expect(error.code).toBe(-32602);
    expect(error.message).toMatch(new RegExp(`^params\\.${Object.keys(params)[0]} must be .+\\.$`));
  });

  it("arguments that break the schema are a result the model can act on (tools §Error Handling)", async () => {
    let ran = false;
    const served = await serve([tool(() => (ran = true), "optional")]);
    for (const capabilities of [{}, withTasks]) {
      const { result } = await served.tool("t", { n: "many" }, { capabilities });
      expect(result).toMatchObject({
        resultType: "complete",
        isError: true,
        content: [{ type: "text", text: expect.stringContaining("n") }],
      });
    }
    expect(ran).toBe(false);
  });

  it("takes no arguments for none, and ignores what it does not know", async () => {
    const served = await serve([tool((args) => JSON.stringify(args))]);
    const { result } = await served.call(
      "tools/call",
      { name: "t", unknown: 1, task: { ttl: "nonsense" } },
      { meta: { "x/y": 1 } },
    );
    expect(result.content[0].text).toBe("{}");
  });
});

describe("when a call becomes a task (design decision 14)", () => {
  it.each<[TaskSupport, object, "task" | "complete" | number]>([
    ["required", withTasks, "task"],
    ["required", {}, -32021],
    ["required", { tasks: {} }, -32021],
    ["required", { extensions: { [TASKS]: true } }, -32021],
    ["required", { extensions: { [TASKS]: { later: 1 } } }, "task"],
    ["optional", withTasks, "task"],
    ["optional", {}, "complete"],
    ["optional", { tasks: { requests: {} } }, "complete"],
    ["forbidden", withTasks, "complete"],
    ["forbidden", {}, "complete"],
  ])("%s with %j: %s", async (support, capabilities, expected) => {
    const answer = await (await serve([tool(() => "done", support)])).tool("t", {}, { capabilities });
    expect(answer.error?.code ?? answer.result.resultType).toBe(expected);
    if (expected !== "task") expect(answer.result ?? {}).not.toHaveProperty("taskId");
  });

  it.each([
    ["form", {}, { elicitation: {} }],
    ["form", { elicitation: { url: {} } }, { elicitation: {} }],
    ["form", { elicitation: {} }, null],
    ["form", { elicitation: { form: {}, url: {} } }, null],
    ["url", { elicitation: {} }, { elicitation: { url: {} } }],
    ["url", { elicitation: { url: {} } }, null],
    ["roots", {}, { roots: {} }],
    ["sampling", { sampling: {} }, null],
  ])("a tool that asks for %s, with %j declared, requires %j", async (kind, declared, required) => {
    const capabilities = { ...declared, ...withTasks };
    const response = await (
      await serve([tool(() => "done", "optional", { asks: [kind] })])
    ).send("tools/call", { name: "t" }, { capabilities });
    const { error } = (await response.json()) as Wire;
    if (required === null) return expect(error).toBeUndefined();
    expect(response.status).toBe(400);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: required } });
  });
});

describe("a plain call", () => {
  it("that ends soon is one JSON answer (golden)", async () => {
    const response = await (await serve([tool(() => "done")])).send("tools/call", { name: "t" }, { id: 0 });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: 0,
      result: {
        resultType: "complete",
        content: [{ type: "text", text: "done" }],
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "holdfast", version: expect.any(String) } },
      },
    });
  });

  it("keeps structured content and the tool's own _meta", async () => {
    const whole = { content: [], structuredContent: { a: 1 }, _meta: { "x/y": 1 } };
    const { result } = await (await serve([tool(() => whole)])).tool("t");
    expect(result).toMatchObject({ resultType: "complete", structuredContent: { a: 1 }, _meta: { "x/y": 1 } });
  });

  it("whose tool fails for the caller is a result, for the wire an error, and by accident neither's words", async () => {
    const fails = async (thrown: Error): Promise<Wire> =>
      (await serve([tool(() => Promise.reject(thrown))])).send("tools/call", { name: "t" });
    expect(await only(await fails(new ToolError("No such file.")))).toMatchObject({
      result: { isError: true, content: [{ text: "No such file." }] },
    });
    const refused = await fails(new ProtocolError(12345, "Not today.", { why: [1] }));
    expect(refused.status).toBe(200);
    expect(await only(refused)).toMatchObject({
      id: 1,
      error: { code: 12345, message: "Not today.", data: { why: [1] } },
    });
    const accident = await only(await fails(new Error("secret path")));
    expect(accident).toMatchObject({ error: { code: -32603 } });
    expect(JSON.stringify(accident)).not.toContain("secret");
  });

  it("logs what a tool's accident was", async () => {
    const served = await serve([tool(() => Promise.reject(new Error("secret path")))]);
    await served.tool("t");
    expect(JSON.stringify(served.log)).toContain("secret path");
  });

  it("that takes long is a stream that ends with the answer", async () => {
    const { opened, open } = gate();
    const served = await serve([tool(() => opened.then(() => "late"))]);
    const response = await served.send("tools/call", { name: "t" });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    open();
    const messages = await messagesOf(response);
    expect(messages).toMatchObject([{ id: 1, result: { content: [{ text: "late" }] } }]);
  });

  it("is waited for when the client takes no streams", async () => {
    const { opened, open } = gate();
    const served = await serve([tool((_, { progress }) => (progress({ progress: 1 }), opened.then(() => "late")))]);
    vi.useFakeTimers();
    try {
      const sent = served.send(
        "tools/call",
        { name: "t" },
        { headers: { Accept: "application/json" }, meta: { progressToken: 1 } },
      );
      await vi.advanceTimersByTimeAsync(60_000);
      open();
      const response = await sent;
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ id: 1, result: { content: [{ text: "late" }] } });
    } finally {
      vi.useRealTimers();
    }
  });

  it("is stopped when it takes longer than it may", async () => {
    let reason: unknown;
    const forever = tool(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject((reason = signal.reason)))),
      "forbidden",
      { timeoutMs: 20 },
    );
    const { result } = await (await serve([forever])).tool("t");
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("longer than a plain call may (20 ms)") }],
    });
    expect(reason).toBeDefined();
  });

  it("writes to a quiet stream each second, which is how the platform notices that a client left", async () => {
    const { opened, open } = gate();
    const served = await serve([tool(() => opened.then(() => "late"))]);
    vi.useFakeTimers();
    try {
      const sent = served.send("tools/call", { name: "t" });
      await vi.advanceTimersByTimeAsync(300);
      const response = await sent;
      const text = response.text();
      await vi.advanceTimersByTimeAsync(3_100);
      open();
      expect((await text).match(/^: keep-alive$/gm)).toHaveLength(3);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("progress of a plain call", () => {
  const counting = tool((_, { progress }) => {
    for (const step of [0, 1, 1, 0.5, 2]) progress({ progress: step, total: 2, message: `${step}` });
    return "done";
  });

  it.each([0, "", "token", -7])("goes to the token %j, as it was sent", async (progressToken) => {
    const messages = await messagesOf(
      await (await serve([counting])).send("tools/call", { name: "t" }, { meta: { progressToken } }),
    );
    expect(messages[0]).toEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken, progress: 0, total: 2, message: "0" },
    });
  });

  it("only ever increases, and ends with the answer", async () => {
    const messages = await messagesOf(
      await (await serve([counting])).send("tools/call", { name: "t" }, { meta: { progressToken: 1 } }),
    );
    expect(messages.slice(0, -1).map((message) => message.params.progress)).toEqual([0, 1, 2]);
    expect(messages.at(-1)).toHaveProperty("result");
  });

  it("has a number also where the tool gives none", async () => {
    const talking = tool((_, { progress }) => (progress({ message: "a" }), progress({ message: "b" }), "done"));
    const messages = await messagesOf(
      await (await serve([talking])).send("tools/call", { name: "t" }, { meta: { progressToken: 1 } }),
    );
    expect(messages.slice(0, -1).map((message) => [message.params.progress, message.params.message])).toEqual([
      [1, "a"],
      [2, "b"],
    ]);
  });

  it("is not sent without a token, nor for a task", async () => {
    const served = await serve([counting, defineTool({ ...counting, name: "task", task: "required", input })]);
    expect((await served.send("tools/call", { name: "t" })).headers.get("content-type")).toBe("application/json");
    const created = await served.send(
      "tools/call",
      { name: "task" },
      { capabilities: withTasks, meta: { progressToken: 1 } },
    );
    expect(created.headers.get("content-type")).toBe("application/json");
  });

  it("after the answer goes nowhere", async () => {
    let late: TaskContext["progress"] = () => {};
    const served = await serve([tool((_, { progress }) => (progress({ progress: 1 }), (late = progress), "done"))]);
    const response = await served.send("tools/call", { name: "t" }, { meta: { progressToken: 1 } });
    const messages = messagesOf(response);
    await until(
      () => late,
      (report) => report.length > 0,
    );
    late({ progress: 2 });
    expect((await messages).map((message) => message.method ?? "answer")).toEqual(["notifications/progress", "answer"]);
  });
});

describe("log messages of a plain call", () => {
  const chatty = tool((_, { log }) => {
    log("debug", "fine");
    log("warning", "careful", { at: 1 });
    log("emergency", "out");
    return "done";
  });

  it("are sent from the level asked for", async () => {
    const meta = { "io.modelcontextprotocol/logLevel": "warning" };
    const messages = await messagesOf(await (await serve([chatty])).send("tools/call", { name: "t" }, { meta }));
    expect(messages.slice(0, -1)).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/message",
        params: { level: "warning", logger: "t", data: { at: 1, message: "careful" } },
      },
      { jsonrpc: "2.0", method: "notifications/message", params: { level: "emergency", logger: "t", data: "out" } },
    ]);
  });

  it("are not sent to who did not ask, but the operator has them", async () => {
    const served = await serve([chatty]);
    expect((await served.send("tools/call", { name: "t" })).headers.get("content-type")).toBe("application/json");
    expect(served.log).toContainEqual({ level: "warning", message: "careful", at: 1, tool: "t" });
  });
});

describe("a client that leaves (design decision 15)", () => {
  it("stops a plain call, and nothing more is sent (P07)", async () => {
    const started = gate();
    const stopped = gate();
    let finish = (): void => {};
    const served = await serve([
      tool((_, { signal, progress }) => {
        progress({ progress: 1 });
        signal.addEventListener("abort", () => stopped.open());
        started.open();
        return new Promise((resolve) => (finish = () => resolve("late")));
      }),
    ]);
    const client = new AbortController();
    const response = await served.send(
      "tools/call",
      { name: "t" },
      { meta: { progressToken: 1 }, signal: client.signal },
    );
    await started.opened;
    client.abort();
    await stopped.opened;
    finish();
    expect((await messagesOf(response)).filter((message) => "result" in message || "error" in message)).toEqual([]);
    expect(served.log).toEqual([]);
  });

  it("stops a plain call by dropping the stream", async () => {
    const stopped = gate();
    const served = await serve([
      tool((_, { signal }) => new Promise(() => signal.addEventListener("abort", () => stopped.open()))),
    ]);
    const response = await served.send("tools/call", { name: "t" });
    await response.body?.cancel();
    await stopped.opened;
  });

  it("leaves the tool a moment to tidy up, which Workers do not by themselves", async () => {
    vi.useFakeTimers();
    try {
      const served = await serve([
        tool(
          (_, { signal }) =>
            new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
        ),
      ]);
      let background: Promise<unknown> | undefined;
      const context = {
        waitUntil: (work: Promise<unknown>) => void (background = work),
        passThroughOnException: () => {},
        props: {},
      };
      const client = new AbortController();
      const params = { name: "t", _meta: envelope({}) };
      const init = {
        method: "POST",
        headers: headersFor("tools/call", params),
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
        signal: client.signal,
      };
      const sent = served.app.request("http://localhost/mcp", init, {}, context);
      await vi.advanceTimersByTimeAsync(300);
      await sent;
      let over = false;
      void background?.then(() => (over = true));
      client.abort();
      await vi.advanceTimersByTimeAsync(4_999);
      expect([background === undefined, over]).toEqual([false, false]);
      await vi.advanceTimersByTimeAsync(1);
      expect(over).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it("who had stopped reading leaves nothing behind", async () => {
    vi.useFakeTimers();
    try {
      const served = await serve([
        tool((_, { progress, signal }) => {
          for (let step = 0; step < 200; step += 1) progress({ progress: step });
          return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        }),
      ]);
      const client = new AbortController();
      await served.send("tools/call", { name: "t" }, { meta: { progressToken: 1 }, signal: client.signal });
      client.abort();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("stops a call before anything was answered", async () => {
    const started = gate();
    const stopped = gate();
    const served = await serve([
      tool((_, { signal }) => {
        signal.addEventListener("abort", () => stopped.open());
        started.open();
        return new Promise(() => {});
      }),
    ]);
    const client = new AbortController();
    const sent = served.send("tools/call", { name: "t" }, { signal: client.signal }).catch(() => null);
    await started.opened;
    client.abort();
    await stopped.opened;
    expect((await (await sent)?.text()) ?? "").toBe("");
    expect(served.log).toEqual([]);
  });

  it.each([
    ["cancels a task whose handle nobody got", {}, "cancelled"],
    ["leaves a task that its key finds again", { "Idempotency-Key": "k" }, "working"],
  ])("%s", async (_, headers, status) => {
    const forever = tool(() => new Promise(() => {}), "required");
    const real = await serve([forever], { owners: ["owner-a"] });
    const client = new AbortController();
    let taskId = "";
    const tasks = {
      async start(request: Parameters<TaskService["start"]>[0]) {
        const started = await real.tasks.start(request);
        taskId = started.task.id;
        client.abort();
        return started;
      },
      cancel: (principal: Principal, id: string) => real.tasks.cancel(principal, id),
    } as TaskService;
    const leaving = await serve([forever], { owners: ["owner-a"], deps: { tasks } });
    const options = { capabilities: withTasks, token: "owner-a" };
    await leaving.send("tools/call", { name: "t" }, { ...options, headers, signal: client.signal });
    const get = () => real.call("tasks/get", { taskId }, options);
    expect((await get()).result.status).toBe(status);
  });

  it("stops nothing about a task whose handle was sent", async () => {
    const { opened, open } = gate();
    const served = await serve([tool(() => opened.then(() => "done"), "required")]);
    const client = new AbortController();
    const created = await only(
      await served.send("tools/call", { name: "t" }, { capabilities: withTasks, signal: client.signal }),
    );
    client.abort();
    open();
    const get = () => served.call("tasks/get", { taskId: created.result.taskId }, { capabilities: withTasks });
    expect(await until(get, ({ result }) => result.status !== "working")).toMatchObject({
      result: { status: "completed" },
    });
  });
});

describe("a call with an idempotency key", () => {
  const KEY = "dev.holdfast/idempotencyKey";
  const owners = ["owner-a", "owner-b"];
  const counted = (support: TaskSupport, more: (args: Wire, task: TaskContext) => unknown = () => "done") => {
    const runs = { count: 0 };
    const run = (args: Wire, task: TaskContext) => {
      runs.count += 1;
      return more(args, task);
    };
    return { runs, tool: tool(run, support) };
  };

  it("is one task, however often it is sent, in the header or in _meta", async () => {
    const { runs, tool: once } = counted("optional");
    const served = await serve([once], { owners });
    const base = { capabilities: withTasks, token: "owner-a" };
    const ids = new Set<string>();
    for (const option of [
      { headers: { "Idempotency-Key": "k" } },
      { meta: { [KEY]: "k" } },
      { headers: { "Idempotency-Key": "k" }, meta: { [KEY]: "k" } },
    ]) {
      ids.add((await served.tool("t", { n: 1 }, { ...base, ...option })).result.taskId);
    }
    expect(ids.size).toBe(1);
    const [taskId] = ids;
    await until(
      () => served.call("tasks/get", { taskId }, base),
      ({ result }) => result.status === "completed",
    );
    expect(runs.count).toBe(1);
  });

  it("with other arguments is a conflict, in 200", async () => {
    const served = await serve([counted("optional").tool], { owners });
    const options = { capabilities: withTasks, token: "owner-a", headers: { "Idempotency-Key": "k" } };
    await served.tool("t", { n: 1 }, options);
    const response = await served.send("tools/call", { name: "t", arguments: { n: 2 } }, options);
    expect([response.status, ((await response.json()) as Wire).error.code]).toEqual([200, 40900]);
  });

  it("is another task for another owner, and no task of anybody's for the anonymous", async () => {
    const served = await serve([counted("optional").tool], { owners });
    const options = { capabilities: withTasks, headers: { "Idempotency-Key": "k" } };
    const [a, b] = [
      await served.tool("t", {}, { ...options, token: "owner-a" }),
      await served.tool("t", {}, { ...options, token: "owner-b" }),
    ];
    expect(a.result.taskId).not.toBe(b.result.taskId);
    const open = await serve([counted("optional").tool]);
    const [c, d] = [await open.tool("t", {}, options), await open.tool("t", {}, options)];
    expect(c.result.taskId).not.toBe(d.result.taskId);
  });

  it.each<[string, object]>([
    ["differs between header and _meta", { headers: { "Idempotency-Key": "a" }, meta: { [KEY]: "b" } }],
    ["has a blank", { meta: { [KEY]: "a b" } }],
    ["is empty", { meta: { [KEY]: "" } }],
    ["is too long", { headers: { "Idempotency-Key": "a".repeat(256) } }],
    ["is no text", { meta: { [KEY]: 5 } }],
  ])("that %s is -32602", async (_, options) => {
    const { error } = await (
      await serve([counted("optional").tool], { owners })
    ).tool("t", {}, { token: "owner-a", ...options });
    expect(error.code).toBe(-32602);
  });

  it("from a client without tasks is held until the task is done, and leaving stops nothing", async () => {
    const { opened, open } = gate();
    const started = gate();
    const { runs, tool: once } = counted("optional", (_, { id, progress }) => {
      progress({ progress: 1, total: 2, message: "half" });
      started.open();
      return opened.then(() => `task ${id === null ? "none" : "yes"}`);
    });
    const served = await serve([once], { owners });
    const options = { token: "owner-a", headers: { "Idempotency-Key": "k" }, meta: { progressToken: "p" } };
    const client = new AbortController();
    const left = await served.send("tools/call", { name: "t" }, { ...options, signal: client.signal });
    await started.opened;
    client.abort();
    open();
    const { result } = await served.tool("t", {}, options);
    expect(result).toMatchObject({ resultType: "complete", content: [{ text: "task yes" }] });
    expect(result).not.toHaveProperty("taskId");
    expect(runs.count).toBe(1);
    expect((await messagesOf(left)).some((message) => "result" in message)).toBe(false);
  });

  it("held, tells progress, and says how the task ended", async () => {
    const { opened, open } = gate();
    const failing = counted("optional", async (_, { progress }) => {
      await opened;
      progress({ progress: 1 });
      throw new ProtocolError(777, "Broken.", [1]);
    });
    const served = await serve([failing.tool], { owners });
    const response = await served.send(
      "tools/call",
      { name: "t" },
      { token: "owner-a", headers: { "Idempotency-Key": "k" }, meta: { progressToken: 3 } },
    );
    open();
    expect(await messagesOf(response)).toMatchObject([
      { method: "notifications/progress", params: { progressToken: 3, progress: 1 } },
      { id: 1, error: { code: 777, message: "Broken.", data: [1] } },
    ]);
  });

  it("held, brings the task's questions, and takes the answers under the same key", async () => {
    const asking = counted("optional", async (_, { ask }) => {
      const { who } = await ask({
        who: {
          kind: "form",
          message: "Who?",
          schema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
        },
      });
      return JSON.stringify(who);
    });
    const served = await serve([asking.tool], { owners });
    const options = { token: "owner-a", headers: { "Idempotency-Key": "k" }, capabilities: { elicitation: {} } };
    const first = await served.tool("t", {}, options);
    expect(first.result).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create" } },
    });
    const { requestState } = first.result;
    const wrong = { who: { action: "accept", content: { v: 5 } } };
    const again = await served.call(
      "tools/call",
      { name: "t", arguments: {}, requestState, inputResponses: wrong },
      options,
    );
    const [key] = Object.keys(again.result.inputRequests);
    expect(key).not.toBe("who");
    const right = { [key as string]: { action: "accept", content: { v: "me" } } };
    const done = await served.call(
      "tools/call",
      { name: "t", arguments: {}, requestState: again.result.requestState, inputResponses: right },
      options,
    );
    expect(JSON.parse(done.result.content[0].text)).toEqual({ action: "accept", content: { v: "me" } });
  });

  it("from an anonymous caller finds nothing: its calls share nothing", async () => {
    const served = await serve([counted("optional", (_, { id }) => String(id)).tool]);
    const call = async () =>
      (await served.tool("t", {}, { headers: { "Idempotency-Key": "k" } })).result.content[0].text;
    expect(await call()).not.toBe(await call());
  });

  it("does not turn a tool that forbids tasks into one", async () => {
    const { result } = await (
      await serve([counted("forbidden", (_, { id }) => String(id)).tool], { owners })
    ).tool("t", {}, { token: "owner-a", headers: { "Idempotency-Key": "k" }, capabilities: withEverything });
    expect(result.content[0].text).toBe("null");
  });
});
