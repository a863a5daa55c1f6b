// What a message comes to, through the whole app over the memory store.
import { describe, expect, it, vi } from "vitest";
import { defineTool, RefusalError, type AnyTool } from "../../src/tool/define-tool";
import type { JsonObject } from "../../src/task/json";
import { serve, type Served } from "../support/mcp";
import type { Wire } from "./a2a-door";

const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

const echo = defineTool({
  name: "echo",
  description: "Says it.",
  input: object({ text: { type: "string" }, loud: { type: "boolean" } }, ["text"]),
  task: "optional",
  run: ({ text, loud }) => (loud === true ? String(text).toUpperCase() : String(text)),
});
const add = defineTool({
  name: "add",
  description: "Adds.",
  input: object({ a: { type: "number" }, b: { type: "number" } }, ["a", "b"]),
  task: "optional",
  run: ({ a, b }) => String(Number(a) + Number(b)),
});
const asker = (kind: "form" | "url" | "sampling"): AnyTool =>
  defineTool({
    name: `ask_${kind}`,
    description: "Asks.",
    input: object({}, []),
    task: "optional",
    asks: [kind],
    async run(_, task) {
      const asked = {
        form: { kind, message: "Which colour?", schema: object({ v: { type: "string" } }, ["v"]) },
        url: { kind, message: "Sign in.", url: "https://login.example.com/" },
        sampling: { kind, params: { messages: [], maxTokens: 5 } },
      }[kind] as never;
      return JSON.stringify((await task.ask({ k: asked })) as unknown);
    },
  });
const refuser = defineTool({
  name: "refuse",
  description: "Refuses, once it knows who asks.",
  input: object({}, []),
  task: "optional",
  prepare() {
    throw new RefusalError("Not on Sundays.");
  },
  run: () => "never",
});
const quick = defineTool({
  name: "quick",
  description: "Makes no task.",
  input: object({ text: { type: "string" }, times: { type: "number" } }, ["text", "times"]),
  task: "forbidden",
  run: ({ text }) => ({ content: [{ type: "text", text: `quick ${String(text)}` }] }),
});

let runs = 0;
const slow = defineTool({
  name: "slow",
  description: "Sleeps.",
  input: object({}, []),
  task: "optional",
  async run(_, task) {
    runs += 1;
    await task.sleep(Date.now() + 60_000);
    return "late";
  },
});

const TOOLS = [echo, add, asker("form"), asker("url"), asker("sampling"), refuser, quick, slow];

async function open(tools: readonly AnyTool[] = TOOLS, over: Parameters<typeof serve>[1] = {}) {
  const served: Served = await serve(tools, over);
  const call = async (method: string, params: object, headers: object = {}): Promise<Wire> => {
    const answer = await served.app.request("http://localhost/a2a", {
      method: "POST",
      headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return answer.json() as Promise<Wire>;
  };
  let sent = 0;
  const send = (parts: readonly object[], more: object = {}, headers: object = {}, params: object = {}) =>
    call(
      "SendMessage",
      { message: { messageId: `m${(sent += 1)}`, role: "ROLE_USER", parts, ...more }, ...params },
      headers,
    );
  return { ...served, call, send };
}

const data = (skill: string, args: object = {}) => ({ data: { skill, arguments: args } });
const textsIn = (task: Wire): string[] =>
  (task.artifacts as Wire[]).flatMap(({ parts }) => parts.map((part: Wire) => part.text as string));

describe("which skill a message means", () => {
  it("is named in a data part, in its metadata, or in those of the request", async () => {
    const { send } = await open();
    const text = [{ text: "x" }];
    for (const { result } of [
      await send([data("echo", { text: "x" })]),
      await send([{ data: { skill: "echo", text: "x" } }]),
      await send(text, { metadata: { skillId: "echo" } }),
      await send([{ data: { text: "x" } }], { metadata: { skillId: "echo" } }),
    ]) {
      expect(textsIn(result.task)).toEqual(["x"]);
    }
    const beside = await send([{ data: { a: 1, b: 2 } }], {}, {}, { metadata: { skillId: "add" } });
    expect(textsIn(beside.result.task)).toEqual(["3"]);
    const both = await send([{ text: "x" }, { data: { loud: true } }], { metadata: { skillId: "echo" } });
    expect(textsIn(both.result.task)).toEqual(["X"]);
  });

  it("is the only one that takes plain text, or the only one there is", async () => {
    const { send } = await open([echo, add]);
    expect(textsIn((await send([{ text: "a" }, { text: "b" }])).result.task)).toEqual(["a\nb"]);
    const only = await open([add]);
    expect(textsIn((await only.send([{ data: { a: 1, b: 2 } }])).result.task)).toEqual(["3"]);
  });

  it("must be clear: a sentence says which there are", async () => {
    const other = { ...echo, name: "shout" };
    const { send } = await open([echo, other]);
    expect((await send([{ text: "x" }])).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("There are: echo, shout."),
    });
    expect((await send([data("gone")])).error).toMatchObject({
      code: -32602,
      message: 'There is no skill "gone" here.',
    });
    expect((await send([{ raw: "eA==" }])).error.code).toBe(-32005);
  });
});

describe("arguments", () => {
  it("written as data that do not fit are refused, and nothing is stored", async () => {
    const { send, call } = await open(TOOLS, { owners: ["a"] });
    const headers = { Authorization: "Bearer a" };
    expect((await send([data("add", { a: "1", b: 2 })], {}, headers)).error).toMatchObject({ code: -32602 });
    expect((await send([data("add", { a: 1 })], {}, headers)).error).toMatchObject({ code: -32602 });
    expect((await call("ListTasks", {}, headers)).result).toMatchObject({ tasks: [], totalSize: 0 });
  });

  it("that words left out are asked for, and the tool runs when they are there", async () => {
    const { send } = await open();
    const { task } = (await send([{ text: "add something" }], { metadata: { skillId: "add" } })).result;
    expect(task.status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: { parts: [{ text: '"add" needs to know more: a, b.' }, { data: expect.anything() }] },
    });
    const taskId = task.id as string;
    const answered = (await send([{ data: { a: 1, b: 2 } }], { taskId })).result.task;
    expect(answered.status.state).toBe("TASK_STATE_COMPLETED");
    expect(textsIn(answered)).toEqual(["3"]);
  });

  it("that nobody would give reject the task", async () => {
    const { send } = await open();
    const { task } = (await send([{ text: "add" }], { metadata: { skillId: "add" } })).result;
    const declined = await send([{ data: { action: "decline" } }], { taskId: task.id as string });
    expect(declined.result.task.status.state).toBe("TASK_STATE_REJECTED");
  });
});

describe("what a message comes to", () => {
  it("is a message from a tool that makes no tasks, in the context it came with", async () => {
    const { send } = await open();
    const { message } = (await send([data("quick", { text: "x", times: 1 })], { contextId: "mine" })).result;
    expect(message).toMatchObject({ role: "ROLE_AGENT", contextId: "mine", parts: [{ text: "quick x" }] });
    expect((await send([data("quick", {})])).error.code).toBe(-32602);
  });

  it("is a rejected task where the tool refuses, before it runs", async () => {
    const { send, call } = await open();
    const { task } = (await send([data("refuse")])).result;
    expect(task.status).toMatchObject({
      state: "TASK_STATE_REJECTED",
      message: { parts: [{ text: "Not on Sundays." }] },
    });
    expect((await call("GetTask", { id: task.id })).result.status).toEqual(task.status);
  });

  it("is a task that waits for a login, and goes on when the client says that it is done", async () => {
    const { send } = await open();
    const { task } = (await send([data("ask_url")])).result;
    expect(task.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
    const done = (await send([{ text: "Done" }], { taskId: task.id as string })).result.task;
    expect(textsIn(done)).toEqual(['{"k":{"action":"accept"}}']);
  });

  it("is refused where the client could not answer, and not where it says that it can", async () => {
    const { send } = await open();
    expect((await send([data("ask_sampling")])).error).toMatchObject({ code: -32004 });
    const knows = { "A2A-Extensions": "https://holdfast.dev/a2a/input-requests/v1" };
    expect((await send([data("ask_sampling")], {}, knows)).result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });
});

describe("a message to a task", () => {
  it("answers it once, however often it comes (C1)", async () => {
    const { send, call } = await open();
    const { task } = (await send([data("ask_form")])).result;
    const answer = { messageId: "again", role: "ROLE_USER", taskId: task.id as string, parts: [{ text: "blue" }] };
    const first = (await call("SendMessage", { message: answer })).result.task;
    expect(first.status.state).toBe("TASK_STATE_COMPLETED");
    expect((await call("SendMessage", { message: answer })).result.task).toEqual(first);
    expect(first.history.map(({ role }: Wire) => role)).toEqual(["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]);
    const other = { ...answer, parts: [{ text: "red" }] };
    expect((await call("SendMessage", { message: other })).error.code).toBe(-32004);
  });

  it("that answers nothing is kept, and the task says what would", async () => {
    const { send } = await open();
    const { task } = (await send([data("ask_form")])).result;
    const taskId = task.id as string;
    const still = (await send([{ data: { v: 5 } }], { taskId })).result.task;
    expect(still.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(still.status.message.parts[0].text).toContain("cannot be used");
    expect(still.history).toHaveLength(2);
    expect((await send([{ text: "blue" }], { taskId })).result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("is refused while it is at work, in another context, and when there is no such task", async () => {
    const { send, call } = await open();
    const now = { configuration: { returnImmediately: true } };
    const { task } = (await send([data("slow")], {}, {}, now)).result;
    await vi.waitUntil(() => runs > 0);
    const taskId = task.id as string;
    expect((await send([{ text: "x" }], { taskId })).error.code).toBe(-32004);
    expect((await send([{ text: "x" }], { taskId, contextId: "other" })).error.code).toBe(-32602);
    const foreign = `${taskId.startsWith("A") ? "B" : "A"}${taskId.slice(1)}`;
    expect((await send([{ text: "x" }], { taskId: foreign })).error.code).toBe(-32001);
    expect((await call("CancelTask", { id: taskId })).result.status.state).toBe("TASK_STATE_CANCELED");
  });
});

describe("the same message twice (G08)", () => {
  it("is one task with the same Idempotency-Key, and two without", async () => {
    const { call } = await open(TOOLS, { owners: ["a", "b"] });
    const send = async (text: string, headers: object): Promise<Wire> => {
      const message = { messageId: "m", role: "ROLE_USER", parts: [data("echo", { text })] };
      return call("SendMessage", { message }, { Authorization: "Bearer a", ...headers });
    };
    const key = { "Idempotency-Key": "k1" };
    const [one, two] = [await send("x", key), await send("x", key)];
    expect(two.result.task.id).toBe(one.result.task.id);
    expect((await send("other", key)).error.code).toBe(40900);
    expect((await send("x", { ...key, Authorization: "Bearer b" })).result.task.id).not.toBe(one.result.task.id);
    expect((await send("x", {})).result.task.id).not.toBe((await send("x", {})).result.task.id);
  });
});
