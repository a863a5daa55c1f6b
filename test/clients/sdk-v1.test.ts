import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import {
  beginTask,
  connectSdkClient,
  streamCall,
  textOf,
  withoutTasks,
  withTasks,
  type SdkClientOptions,
} from "./sdk-v1-client";

let server: DevServer;
beforeAll(async () => void (server = await startDevServer({ env: "owners" })));
afterAll(() => server.stop());

const connect = (options?: SdkClientOptions): Promise<Client> =>
  connectSdkClient(`${server.url}/mcp`, { token: "owner-a", ...options });

describe("the tasks of the official SDK", () => {
  /** The questions its user was asked. */
  const asked: string[] = [];
  let client: Client;
  beforeAll(async () => {
    client = await connect({ capabilities: withTasks, onForm: (message) => asked.push(message) });
    // As a host does, and as the SDK wants before it makes tasks by itself.
    await client.listTools();
  });
  afterAll(() => client.close());

  it("are shown no helper tools", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("slow");
    expect(tools.filter(({ name }) => name.startsWith("task_"))).toEqual([]);
  });

  it("stream from creation to the result", async () => {
    const seen = await streamCall(client, "slow", { ms: 1_500, text: "at last" });
    expect(seen.states.slice(0, 2)).toEqual(["working", "working"]);
    expect(seen.states.at(-1)).toBe("completed");
    expect(seen.result).toMatchObject({
      content: [{ type: "text", text: "at last" }],
      _meta: { "io.modelcontextprotocol/related-task": { taskId: seen.taskId } },
    });
  });

  it.each([
    ["confirm_delete", { filename: "a.txt" }, ["Delete a.txt?"], /^Deleted a\.txt\.$/],
    ["multi_input", {}, ["Are you sure?", "What is your name?"], /"name":"Alice".*"confirm":true/],
    ["ask", { keys: ["k1", "k2"] }, ["What is k1?", "What is k2?"], /k1.*Alice.*k2.*Alice/],
  ])("answer each question of %s once, and get the result", async (name, args, questions, text) => {
    asked.length = 0;
    const { states, result } = await streamCall(client, name, args);
    expect(states.at(-1)).toBe("input_required");
    expect(textOf(result)).toMatch(text);
    expect(asked.toSorted()).toEqual(questions);
  });

  it("report progress with the token of the call, while their client polls", async () => {
    const reached: number[] = [];
    const onprogress: RequestOptions["onprogress"] = ({ progress }) => reached.push(progress);
    const { result } = await streamCall(client, "steps", { count: 4, ms: 700 }, { onprogress });
    expect(textOf(result)).toBe("4 steps");
    expect(reached.length).toBeGreaterThan(0);
    expect(reached).toEqual([...new Set(reached)].toSorted());
  });

  it("tell of failure", async () => {
    const failed = await streamCall(client, "failing_job", {});
    expect(failed.states.at(-1)).toBe("failed");
    expect(failed.error).toMatch(/failed/);
    expect(await client.experimental.tasks.getTask(failed.taskId)).toMatchObject({
      statusMessage: "This job ends with an error on purpose.",
    });
    // The client does not look; its result is there all the same.
    const result = await client.experimental.tasks.getTaskResult(failed.taskId, CallToolResultSchema);
    expect(result).toMatchObject({ isError: true, content: [{ text: "This job ends with an error on purpose." }] });
    const broken = await streamCall(client, "protocol_error_job", {});
    await expect(client.experimental.tasks.getTaskResult(broken.taskId)).rejects.toMatchObject({ code: -32000 });
  });

  it("are got, listed and cancelled", async () => {
    const { tasks } = client.experimental;
    const taskId = await beginTask(client, "slow", { ms: 60_000 });
    expect(await tasks.getTask(taskId)).toMatchObject({ taskId, status: "working", ttl: 86_400_000 });
    const listed = (await tasks.listTasks()).tasks;
    expect(listed[0]).toMatchObject({ taskId, status: "working" });
    expect(await tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
    expect(await tasks.getTask(taskId)).toMatchObject({ status: "cancelled" });
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.getTaskResult(taskId)).rejects.toMatchObject({
      code: -32602,
      data: { taskId, status: "cancelled" },
    });
  });

  it("have the ttl that was asked for", async () => {
    const taskId = await beginTask(client, "slow", { ms: 1 }, { task: { ttl: 120_000 } });
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ ttl: 120_000 });
  });

  it("are awaited by several clients of their owner, and are not there for another", async () => {
    const [second, other] = await Promise.all([connect(), connect({ token: "owner-b" })]);
    const taskId = await beginTask(client, "slow", { ms: 1_500, text: "for all" });
    const waiting = [client, second].map((each) => each.experimental.tasks.getTaskResult(taskId, CallToolResultSchema));
    expect((await Promise.all(waiting)).map(textOf)).toEqual(["for all", "for all"]);
    const { tasks } = other.experimental;
    await expect(tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.getTaskResult(taskId)).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    expect((await tasks.listTasks()).tasks).toEqual([]);
    await Promise.all([second.close(), other.close()]);
  });

  it("are not for a tool that has none", async () => {
    const { error } = await streamCall(client, "greet", { name: "Bob" });
    expect(error).toMatch(/-32601/);
  });
});

describe("a plain call of the official SDK", () => {
  const asked: string[] = [];
  let client: Client;
  beforeAll(
    async () => void (client = await connect({ capabilities: withoutTasks, onForm: (message) => asked.push(message) })),
  );
  afterAll(() => client.close());

  const call = async (name: string, args: object, options?: RequestOptions): Promise<string> =>
    textOf(await client.callTool({ name, arguments: { ...args } }, CallToolResultSchema, options));

  it("is shown the helper tools", async () => {
    const { tools } = await client.listTools();
    const helpers = tools.map(({ name }) => name).filter((name) => name.startsWith("task_"));
    expect(helpers).toEqual(["task_result", "task_answer", "task_cancel", "task_list"]);
  });

  it("is answered at once where the tool is quick", async () => {
    expect(await call("greet", { name: "Bob" })).toBe("Hello, Bob!");
  });

  it("is held open, and its progress keeps an impatient client waiting", async () => {
    const reached: number[] = [];
    const text = await call(
      "steps",
      { count: 6, ms: 700 },
      { timeout: 2_500, resetTimeoutOnProgress: true, onprogress: ({ progress }) => reached.push(progress) },
    );
    expect(text).toBe("6 steps");
    expect(reached.at(-1)).toBeGreaterThanOrEqual(5);
    expect(reached).toEqual([...new Set(reached)].toSorted());
  });

  it.each([
    ["of a tool that is never a task", "test_elicitation", { message: "Who are you?" }, ["Who are you?"], /Alice/],
    [
      "of a tool that may be one",
      "ask",
      { keys: ["k1", "k2"] },
      ["What is k1?", "What is k2?"],
      /k1.*Alice.*k2.*Alice/,
    ],
  ])("%s asks on its stream", async (_, name, args, questions, text) => {
    asked.length = 0;
    expect(await call(name, args)).toMatch(text);
    expect(asked.toSorted()).toEqual(questions);
  });
});
