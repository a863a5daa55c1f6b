import { describe, expect, it, vi } from "vitest";
import type { TaskContext } from "../../../src/tool/context";
import { defineTool, type TaskSupport } from "../../../src/tool/define-tool";
import { events, serve, until, withTasks, type SendOptions, type Served, type Wire } from "../../support/mcp";

const owners = ["owner-a", "owner-b"];
const own = { token: "owner-a" };
const keyed = { ...own, headers: { "Idempotency-Key": "k" } };
const asking = { capabilities: { elicitation: {} } };

const tool = (
  run: (task: TaskContext) => unknown,
  more: { output?: object; task?: TaskSupport; asks?: string[] } = {},
) =>
  defineTool({
    name: "t",
    description: "t",
    input: { type: "object" },
    task: "optional",
    run: (_: unknown, task: TaskContext) => run(task) as never,
    ...(more as object),
  });

const form = (message: string) =>
  ({
    kind: "form",
    message,
    schema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
  }) as const;
const accept = (v: unknown) => ({ action: "accept", content: { v } });

/** Work that ends when the test says so. */
function work() {
  let finish = (): void => {};
  const finished = new Promise<string>((resolve) => (finish = () => resolve("done")));
  return { finished, finish: () => finish() };
}

/** Asks for a name, then for a city. */
const interview = tool(async ({ ask }) => {
  const { name } = await ask({ name: form("Name?") });
  const { city } = await ask({ city: form("City?") });
  return JSON.stringify([name, city]);
});

const handleOf = (result: Wire): { taskId: string; status: string } => result._meta["dev.holdfast/task"];
const round = (served: Served, params: object, options: SendOptions): Promise<Wire> =>
  served.call("tools/call", { name: "t", arguments: {}, ...params }, options);
const helper = async (served: Served, name: string, args: object, options: SendOptions = {}): Promise<Wire> =>
  (await served.tool(name, args, options)).result;

describe("a call of a client without tasks (design decision 14)", () => {
  it("is a task whose result is the answer, if that comes soon", async () => {
    const served = await serve([tool(({ id }) => `task ${id === null ? "none" : "some"}`)]);
    const response = await served.send("tools/call", { name: "t" });
    expect(response.headers.get("content-type")).toBe("application/json");
    const { result } = (await response.json()) as Wire;
    expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "task some" }] });
    expect(result._meta).not.toHaveProperty("dev.holdfast/task");
  });

  it("is answered with a handle when the time is up, and the result is got through the helper (A01)", async () => {
    const { finished, finish } = work();
    const served = await serve([tool(() => finished)], { config: { inlineWaitMs: 20 } });
    const { result } = await served.tool("t");
    expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text" }] });
    expect(result).not.toHaveProperty("isError");
    const { taskId, status } = handleOf(result);
    expect(status).toBe("working");
    expect(result.content[0].text).toContain(`task_result with {"taskId":"${taskId}"}`);

    // What takes three minutes outlives a wait or two of the helper's as well.
    expect(handleOf(await helper(served, "task_result", { taskId }))).toEqual({ taskId, status: "working" });
    finish();
    const done = () => helper(served, "task_result", { taskId });
    expect(await until(done, (answer) => answer.content[0].text === "done")).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: "done" }],
      _meta: { "io.modelcontextprotocol/serverInfo": expect.anything() },
    });
  });

  it("does not break what the tool's output schema promises: its handle is an error result", async () => {
    const { finished, finish } = work();
    const output = { type: "object", properties: { v: { type: "string" } }, required: ["v"] };
    const served = await serve([tool(async () => ({ v: await finished }), { output })], {
      config: { inlineWaitMs: 1 },
    });
    const { result } = await served.tool("t");
    expect(result.isError).toBe(true);
    expect(result).not.toHaveProperty("structuredContent");
    finish();
    const { taskId } = handleOf(result);
    const done = await until(
      () => helper(served, "task_result", { taskId }),
      (answer) => "structuredContent" in answer,
    );
    expect(done.structuredContent).toEqual({ v: "done" });
  });

  it("is a stream with the task's progress while it is held", async () => {
    const { finished, finish } = work();
    const served = await serve([
      tool(async ({ progress }) => {
        progress({ progress: 1, total: 2, message: "half" });
        return finished;
      }),
    ]);
    const response = await served.send("tools/call", { name: "t" }, { meta: { progressToken: "p" } });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const messages: Wire[] = [];
    for await (const message of events(response)) {
      messages.push(message);
      finish();
    }
    expect(messages).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "p", progress: 1, total: 2, message: "half" } },
      { id: 1, result: { content: [{ text: "done" }] } },
    ]);
  });

  it("may always use the helpers, also where they are not listed", async () => {
    const { finished, finish } = work();
    const served = await serve([tool(() => finished)]);
    const { result } = await served.tool("t", {}, { capabilities: withTasks });
    finish();
    const done = await helper(served, "task_result", { taskId: result.taskId }, { capabilities: withTasks });
    expect(done.content[0].text).toBe("done");
  });

  it("has no list of tasks when it is anonymous", async () => {
    expect((await (await serve([interview])).tool("task_list")).error.code).toBe(-32602);
  });
});

describe("a client that leaves a held call (design decision 15)", () => {
  /** A tool that says when it began and when it was stopped. */
  function watched() {
    const seen = { began: false, stopped: false };
    const { finished, finish } = work();
    const run = ({ signal }: TaskContext): Promise<string> => {
      seen.began = true;
      signal.addEventListener("abort", () => (seen.stopped = true));
      return finished;
    };
    return { seen, finish, tool: tool(run) };
  }

  it.each<[string, SendOptions]>([
    ["anonymous", {}],
    ["its owner", own],
  ])("ends the work when no handle was sent (%s)", async (_, options) => {
    const { seen, tool: slow } = watched();
    const served = await serve([slow], options === own ? { owners } : {});
    const client = new AbortController();
    const left = served.send("tools/call", { name: "t" }, { ...options, signal: client.signal }).catch(() => null);
    await until(() => seen.began, Boolean);
    client.abort();
    await until(() => seen.stopped, Boolean);
    await (await left)?.body?.cancel();
    expect(served.log).toEqual([]);
  });

  it("ends the work also when it leaves before the task exists", async () => {
    const { tool: slow } = watched();
    const real = await serve([slow], { owners });
    const client = new AbortController();
    const started = vi.fn();
    const tasks = Object.create(real.tasks) as Served["tasks"];
    tasks.start = async (request) => {
      const made = await real.tasks.start(request);
      started(made.task.id);
      client.abort();
      return made;
    };
    for (const verb of ["get", "settle", "cancel"] as const) tasks[verb] = real.tasks[verb].bind(real.tasks) as never;
    const leaving = await serve([slow], { owners, deps: { tasks } });
    await leaving.send("tools/call", { name: "t" }, { ...own, signal: client.signal });
    const taskId = started.mock.calls[0]?.[0] as string;
    const get = () => real.call("tasks/get", { taskId }, { ...own, capabilities: withTasks });
    expect(await until(get, ({ result }) => result.status !== "working")).toMatchObject({
      result: { status: "cancelled" },
    });
  });

  it("leaves the work to who repeats the call with its key (W03)", async () => {
    const { seen, finish, tool: slow } = watched();
    const served = await serve([slow], { owners });
    const client = new AbortController();
    const left = await served.send("tools/call", { name: "t" }, { ...keyed, signal: client.signal });
    await until(() => seen.began, Boolean);
    client.abort();
    await left.body?.cancel();
    const repeated = served.tool("t", {}, keyed);
    finish();
    expect((await repeated).result.content[0].text).toBe("done");
    const { error } = await served.tool("t", { other: true }, keyed);
    expect(error.code).toBe(40900);
  });

  it("leaves the work to who lists its tasks", async () => {
    const { seen, finish, tool: slow } = watched();
    const served = await serve([slow], { owners });
    const client = new AbortController();
    const left = await served.send("tools/call", { name: "t" }, { ...keyed, signal: client.signal });
    await until(() => seen.began, Boolean);
    client.abort();
    await left.body?.cancel();
    const [taskId] = (await helper(served, "task_list", {}, own)).content[0].text.split(" ");
    finish();
    expect((await helper(served, "task_result", { taskId }, own)).content[0].text).toBe("done");
  });

  it("stops nothing once a handle is out", async () => {
    const { finish, tool: slow } = watched();
    const served = await serve([slow], { config: { inlineWaitMs: 5 } });
    const client = new AbortController();
    const response = await served.send("tools/call", { name: "t" }, { signal: client.signal });
    const { taskId } = handleOf(((await response.json()) as Wire).result);
    client.abort();
    const waiting = new AbortController();
    const left = served.send("tools/call", { name: "task_result", arguments: { taskId } }, { signal: waiting.signal });
    waiting.abort();
    await left.catch(() => null);
    finish();
    const done = () => helper(served, "task_result", { taskId });
    expect((await until(done, (answer) => handleOf(answer)?.status !== "working")).content[0].text).toBe("done");
  });

  it("stops nothing when it leaves a later round: the state names the task", async () => {
    const { finished, finish } = work();
    const served = await serve([
      tool(async ({ ask }) => {
        await ask({ name: form("Name?") });
        return finished;
      }),
    ]);
    const { requestState } = (await served.tool("t", {}, asking)).result;
    const params = { name: "t", arguments: {}, requestState, inputResponses: { name: accept("Ada") } };
    const client = new AbortController();
    const left = await served.send("tools/call", params, { ...asking, signal: client.signal });
    client.abort();
    await left.body?.cancel();
    const repeated = served.call("tools/call", params, asking);
    finish();
    expect((await repeated).result.content[0].text).toBe("done");
  });
});

describe("a held call whose task asks", () => {
  it.each<[string, SendOptions]>([
    ["without a key", { ...own, ...asking }],
    ["with a key", { ...keyed, ...asking }],
  ])("asks the client, and goes on with the same task (%s)", async (_, options) => {
    const runs = vi.fn();
    const served = await serve([tool((task) => (runs(task.id), interview.run({}, task)))], { owners });
    const first = (await served.tool("t", {}, options)).result;
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { name: { method: "elicitation/create" } },
    });
    const inputResponses = { name: accept("Ada") };
    const second = (await round(served, { inputResponses, requestState: first.requestState }, options)).result;
    expect(Object.keys(second.inputRequests)).toEqual(["city"]);
    const last = { inputResponses: { city: accept("Rome") }, requestState: second.requestState };
    const done = (await round(served, last, options)).result;
    expect(JSON.parse(done.content[0].text)).toEqual([accept("Ada"), accept("Rome")]);
    expect(new Set(runs.mock.calls.map(([id]) => id)).size).toBe(1);
  });

  it("takes answers that come before the questions", async () => {
    const served = await serve([interview]);
    const inputResponses = { name: accept("Ada"), city: accept("Rome") };
    const { result } = await round(served, { inputResponses }, asking);
    expect(JSON.parse(result.content[0].text)).toEqual([accept("Ada"), accept("Rome")]);
  });

  it("asks again what was answered badly", async () => {
    const served = await serve([interview]);
    const { requestState } = (await served.tool("t", {}, asking)).result;
    const again = (await round(served, { inputResponses: { name: accept(5) }, requestState }, asking)).result;
    expect(again.inputRequests["name-2"].params.message).toContain("could not be used");
  });

  it("is nobody else's: another caller's state is -32602, and so is one for other arguments", async () => {
    const served = await serve([interview], { owners });
    const { requestState } = (await served.tool("t", {}, { ...own, ...asking })).result;
    const inputResponses = { name: accept("Eve") };
    const foreign = await round(served, { inputResponses, requestState }, { token: "owner-b", ...asking });
    expect(foreign.error.code).toBe(-32602);
    const other = await round(served, { arguments: { x: 1 }, inputResponses, requestState }, { ...own, ...asking });
    expect(other.error.code).toBe(-32602);
  });

  it("finds nothing once the task has expired", async () => {
    const served = await serve([tool(({ ask }) => ask({ name: form("Name?") }))], {
      limits: { questionTtlMs: 1_000, ttlMs: 60_000 },
    });
    const { requestState } = (await served.tool("t", {}, asking)).result;
    served.advance(3_000_000);
    const { error } = await round(served, { requestState }, asking);
    expect(error).toMatchObject({ code: -32602, message: "No such task, or it has expired." });
  });

  it("gets the handle at once when its client cannot be asked, and is answered through task_answer", async () => {
    const served = await serve([tool((task) => interview.run({}, task), { asks: ["form"] })]);
    const { result } = await served.tool("t");
    const { taskId, status } = handleOf(result);
    expect(status).toBe("input_required");
    expect(result.content[0].text).toContain("Name?");
    for (const [key, v] of [
      ["name", "Ada"],
      ["city", "Rome"],
    ] as const) {
      const answered = await helper(served, "task_answer", { taskId, answers: { [key]: accept(v) } });
      expect(answered.content[0].text).toContain("Nothing is left to answer.");
      await helper(served, "task_result", { taskId });
    }
    const done = await helper(served, "task_result", { taskId });
    expect(JSON.parse(done.content[0].text)).toEqual([accept("Ada"), accept("Rome")]);
  });

  it("gets the handle also when only a part of it can be asked", async () => {
    const served = await serve([tool(({ ask }) => ask({ name: form("Name?"), where: { kind: "roots" } }))]);
    expect(handleOf((await served.tool("t", {}, asking)).result).status).toBe("input_required");
  });

  it("after its handle asks the client all the same, on task_result: a person is not answered for", async () => {
    const { finished, finish } = work();
    const served = await serve([tool(async (task) => (await finished, interview.run({}, task)))], {
      config: { inlineWaitMs: 20 },
    });
    const { taskId } = handleOf((await served.tool("t", {}, asking)).result);
    finish();
    const call = (params: object): Promise<Wire> =>
      served.call("tools/call", { name: "task_result", arguments: { taskId }, ...params }, asking);
    const first = await until(
      () => call({}),
      ({ result }) => result.resultType === "input_required",
    );
    const answer = { inputResponses: { name: accept("Ada") }, requestState: first.result.requestState };
    const second = await until(
      () => call(answer),
      ({ result }) => "city" in (result.inputRequests ?? {}),
    );
    const last = { inputResponses: { city: accept("Rome") }, requestState: second.result.requestState };
    const done = await until(
      () => call(last),
      ({ result }) => handleOf(result) === undefined,
    );
    expect(JSON.parse(done.result.content[0].text)).toEqual([accept("Ada"), accept("Rome")]);
  });

  it("keeps the refusal where no helper could answer: in a plain call, and for a task of the extension", async () => {
    for (const [task, capabilities] of [
      ["forbidden", {}],
      ["optional", withTasks],
    ] as const) {
      const served = await serve([tool(() => "never", { task, asks: ["form"] })]);
      expect((await served.tool("t", {}, { capabilities })).error.code).toBe(-32021);
    }
  });
});
