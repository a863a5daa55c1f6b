// The official client of SDK v2, unmodified: it knows tasks of neither era, and opens with `initialize` unless told not to.
import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolRequestOptions,
  type CallToolResult,
  type ClientOptions,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";

/** So short that a tool outlives it soon. */
const INLINE_WAIT_MS = 2_500;
const HELPERS = ["task_result", "task_answer", "task_cancel", "task_list"];

let server: DevServer;
beforeAll(
  async () => void (server = await startDevServer({ env: "owners", vars: { INLINE_WAIT_MS: `${INLINE_WAIT_MS}` } })),
);
afterAll(() => server.stop());

const defaults: ClientOptions = {};
const auto: ClientOptions = { versionNegotiation: { mode: "auto" } };

describe.each([
  ["in its default mode", defaults, "2025-11-25"],
  ["that finds out the era", auto, "2026-07-28"],
])("the official client of SDK v2 %s", (_, options, version) => {
  const asked: string[] = [];
  let client: Client;
  let other: Client;
  beforeAll(async () => {
    [client, other] = await Promise.all([connect("owner-a", options, asked), connect("owner-b", options, [])]);
  });
  afterAll(() => Promise.all([client.close(), other.close()]));

  const call = (name: string, args: object, more?: CallToolRequestOptions): Promise<CallToolResult> =>
    client.callTool({ name, arguments: { ...args } }, more);

  it("agrees on the newest version of its era", () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
  });

  it("is shown the tools, and what looks after their tasks", async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.slice(0, 1)).toEqual(["test_simple_text"]);
    expect(names.slice(-HELPERS.length)).toEqual(HELPERS);
  });

  it("gets the result of a tool that is never a task", async () => {
    expect(textOf(await call("greet", { name: "Bob" }))).toBe("Hello, Bob!");
  });

  it("gets the result of a tool that is done in time", async () => {
    expect(textOf(await call("slow", { ms: 200, text: "in time" }))).toBe("in time");
    expect(await call("slow", { ms: 1, text: "no", isError: true })).toMatchObject({ isError: true });
    await expect(call("slow", { ms: 1, text: "never", rpcError: true })).rejects.toMatchObject({ code: -32000 });
  });

  it("is told of progress while it waits", async () => {
    const reached: number[] = [];
    const result = await call("steps", { count: 4, ms: 300 }, { onprogress: ({ progress }) => reached.push(progress) });
    expect(textOf(result)).toBe("4 steps");
    expect(reached.length).toBeGreaterThan(0);
  });

  it("is asked within the call, once for each question", async () => {
    asked.length = 0;
    expect(textOf(await call("ask", { keys: ["k1", "k2"] }))).toMatch(/k1.*Alice.*k2.*Alice/);
    expect(asked.toSorted()).toEqual(["What is k1?", "What is k2?"]);
  });

  it("gets a handle for a tool that takes longer, and its result by asking for it once", async () => {
    const handle = await call("slow", { ms: INLINE_WAIT_MS + 500, text: "worth the wait" });
    const { taskId, status } = taskOf(handle);
    expect({ status, isError: handle.isError }).toEqual({ status: "working", isError: undefined });
    expect(textOf(handle)).toContain(`task_result with {"taskId":"${taskId}"}`);
    expect(textOf(await call("task_result", { taskId }))).toBe("worth the wait");
    // As often as it likes.
    expect(textOf(await call("task_result", { taskId, waitMs: 0 }))).toBe("worth the wait");
  });

  it("finds a task again whose id it lost, and cancels it", async () => {
    const { taskId } = taskOf(await call("slow", { ms: 60_000 }));
    const [newest] = textOf(await call("task_list", {})).split("\n");
    expect(newest).toMatch(new RegExp(`^${taskId} slow: working`));
    expect(textOf(await call("task_cancel", { taskId }))).toBe("The task is cancelled.");
    expect(await call("task_result", { taskId })).toMatchObject({
      isError: true,
      content: [{ text: "The task was cancelled." }],
    });
  });

  it("sees nothing of another owner's tasks", async () => {
    const { taskId } = taskOf(await call("slow", { ms: INLINE_WAIT_MS + 500, text: "mine" }));
    const unknown = { isError: true, content: [{ type: "text", text: "No such task, or it has expired." }] };
    const answers = { k1: { action: "cancel" } };
    for (const [name, args] of [
      ["task_result", { taskId }],
      ["task_result", { taskId: "A".repeat(43) }],
      ["task_cancel", { taskId }],
      ["task_answer", { taskId, answers }],
    ] as const)
      expect(await other.callTool({ name, arguments: args })).toMatchObject(unknown);
    expect(textOf(await other.callTool({ name: "task_list", arguments: {} }))).not.toContain(taskId);
    expect(textOf(await call("task_result", { taskId }))).toBe("mine");
  });
});

it("a task is the owner's, whichever era its client speaks", async () => {
  const [old, modern] = await Promise.all([connect("owner-a", defaults, []), connect("owner-a", auto, [])]);
  const { taskId } = taskOf(
    await old.callTool({ name: "slow", arguments: { ms: INLINE_WAIT_MS + 500, text: "both" } }),
  );
  const results = [old, modern].map((client) => client.callTool({ name: "task_result", arguments: { taskId } }));
  expect((await Promise.all(results)).map(textOf)).toEqual(["both", "both"]);
  await Promise.all([old.close(), modern.close()]);
});

async function connect(token: string, options: ClientOptions, asked: string[]): Promise<Client> {
  const client = new Client(
    { name: "holdfast-tests", version: "1.0.0" },
    { ...options, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    const fields = Object.keys("requestedSchema" in params ? params.requestedSchema.properties : {});
    return { action: "accept", content: Object.fromEntries(fields.map((name) => [name, "Alice"])) };
  });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }));
  return client;
}

const textOf = ({ content: [first] }: CallToolResult): string => (first?.type === "text" ? first.text : "");

/** What a handle says to programs. */
const taskOf = ({ _meta, content }: CallToolResult): { readonly taskId: string; readonly status: string } => {
  const task = _meta?.["dev.holdfast/task"];
  if (task === undefined) throw new Error(`No handle: ${JSON.stringify(content)}`);
  return task as { taskId: string; status: string };
};
