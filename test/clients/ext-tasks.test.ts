// The official requester library, unmodified: @modelcontextprotocol/ext-tasks on @modelcontextprotocol/client.
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import type { SerializedTaskReference, TaskOutcome, ToolCallOptions } from "@modelcontextprotocol/ext-tasks/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { connectTasksClient, type TasksClient } from "../../scripts/support/tasks-client";

let server: DevServer;
beforeAll(async () => {
  // It waits one interval before it looks for the first time.
  server = await startDevServer({ env: "conformance", vars: { TASK_POLL_INTERVAL_MS: "250" } });
});
afterAll(() => server.stop());

describe("the official Tasks library", () => {
  let connected: TasksClient;
  beforeAll(async () => void (connected = await connectTasksClient(`${server.url}/mcp`, { elicit: fillIn })));
  afterAll(() => disconnect(connected));

  const call = (name: string, args = {}) => settled(connected, name, args);

  it.each([
    ["slow_compute", { seconds: 1, label: "pi" }, "Computed pi in 1 s."],
    ["slow", { ms: 200, text: "at last" }, "at last"],
    ["must", { ms: 50 }, "done"],
    ["big", { bytes: 40, pattern: "ab" }, "ab".repeat(20)],
    ["park", { ms: 500 }, "awake"],
  ])("waits for %s", async (name, args, text) => {
    expect(await call(name, args)).toMatchObject({ kind: "task", outcome: { status: "completed", text } });
  });

  it.each([
    ["confirm_delete", { filename: "a.txt" }, "Deleted a.txt."],
    ["multi_input", {}, /"name":"Alice".*"confirm":true/],
    ["ask", { keys: ["k1", "k2"] }, /k1.*Alice.*k2.*Alice/],
  ])("answers what %s asks", async (name, args, text) => {
    const { kind, outcome, states } = await call(name, args);
    expect(kind).toBe("task");
    expect(states).toContain("input_required");
    expect(outcome).toMatchObject({ status: "completed", text: expect.stringMatching(text) });
  });

  it("answers what test_tool_with_task asks before it is a task", async () => {
    const { kind, outcome, states } = await call("test_tool_with_task");
    expect(kind).toBe("task");
    expect(states).not.toContain("input_required");
    expect(outcome).toMatchObject({ status: "completed", text: "Hello, Alice!" });
  });

  it("sees a tool error as a completed task", async () => {
    expect((await call("failing_job")).outcome).toMatchObject({ status: "completed", isError: true });
    expect((await call("slow", { ms: 10, isError: true })).outcome).toMatchObject({
      status: "completed",
      isError: true,
    });
  });

  it("sees a protocol error as a failed task, with its code", async () => {
    expect((await call("protocol_error_job")).outcome).toEqual({
      status: "failed",
      code: -32000,
      message: "This job ends with a protocol error on purpose.",
    });
    expect((await call("slow", { ms: 10, rpcError: true })).outcome).toMatchObject({ status: "failed", code: -32000 });
  });

  it("gets an immediate result where a tool is never a task", async () => {
    expect(await call("greet", { name: "Bob" })).toMatchObject({ kind: "immediate", outcome: { text: "Hello, Bob!" } });
  });

  it("cancels", async () => {
    const execution = await connected.session.callTool("slow", { ms: 60_000 });
    await execution.cancel();
    expect((await execution.result()).status).toBe("cancelled");
  });
});

/** It polls `tasks/get` and never asks for `tasks/result` while a task goes on, so questions reach it on the GET stream. */
describe("the official Tasks library on 2025-11-25", () => {
  let connected: TasksClient;
  beforeAll(async () => {
    connected = await connectTasksClient(`${server.url}/mcp`, { elicit: fillIn, era: "legacy" });
    expect(connected.client.getNegotiatedProtocolVersion()).toBe("2025-11-25");
  });
  afterAll(() => disconnect(connected));

  const call = (name: string, args = {}) => settled(connected, name, args, { task: { preference: "require" } });

  it.each([
    ["slow_compute", { seconds: 1, label: "pi" }, "Computed pi in 1 s."],
    ["must", { ms: 50 }, "done"],
    ["big", { bytes: 40, pattern: "ab" }, "ab".repeat(20)],
    ["park", { ms: 500 }, "awake"],
  ])("waits for %s", async (name, args, text) => {
    expect(await call(name, args)).toMatchObject({ kind: "task", outcome: { status: "completed", text } });
  });

  it.each([
    ["confirm_delete", { filename: "a.txt" }, "Deleted a.txt."],
    ["multi_input", {}, /"name":"Alice".*"confirm":true/],
    ["ask", { keys: ["k1", "k2"] }, /k1.*Alice.*k2.*Alice/],
  ])("answers what %s asks", async (name, args, text) => {
    const { kind, outcome } = await call(name, args);
    expect(kind).toBe("task");
    expect(outcome).toMatchObject({ status: "completed", text: expect.stringMatching(text) });
  });

  it("answers what test_tool_with_task asks before it is a task", async () => {
    expect(await call("test_tool_with_task")).toMatchObject({ kind: "task", outcome: { text: "Hello, Alice!" } });
  });

  it("sees a tool error and a protocol error as failed tasks, with what they said", async () => {
    expect((await call("failing_job")).outcome).toEqual({
      status: "failed",
      message: "This job ends with an error on purpose.",
    });
    expect((await call("protocol_error_job")).outcome).toEqual({
      status: "failed",
      message: "This job ends with a protocol error on purpose.",
    });
  });

  it("gets the result of a held call where it asks for no task", async () => {
    const held = await settled(connected, "slow", { ms: 200, text: "in time" });
    expect(held).toMatchObject({ kind: "immediate", outcome: { status: "completed", text: "in time" } });
    const asked = await settled(connected, "ask", { keys: ["k1"] });
    expect(asked).toMatchObject({ kind: "immediate", outcome: { text: expect.stringMatching(/k1.*Alice/) } });
  });

  it("cancels", async () => {
    const execution = await connected.session.callTool("slow", { ms: 60_000 }, { task: { preference: "require" } });
    await execution.cancel();
    expect((await execution.result()).status).toBe("cancelled");
  });
});

it("resumes a task from a new process after the server was killed and restarted", async () => {
  const { client, session } = await connectTasksClient(`${server.url}/mcp`);
  const running = await handedOff(session, "slow", { ms: 4_000, text: "survived" });
  const asking = await handedOff(session, "confirm_delete", { filename: "b.txt" });
  await client.close();
  await server.kill();
  await server.restart();
  expect(await resumeElsewhere(running)).toMatchObject({ status: "completed", text: "survived" });
  expect(await resumeElsewhere(asking)).toMatchObject({ status: "completed", text: "Deleted b.txt." });
});

async function disconnect({ client, session }: TasksClient): Promise<void> {
  await session.close();
  await client.close();
}

/** Calls a tool and follows what comes of it to its end. */
async function settled({ session }: TasksClient, name: string, args: object, options?: ToolCallOptions<unknown>) {
  const execution = await session.callTool(name, { ...args }, options);
  const states: string[] = [];
  const { outcome } = await execution.settle({
    onEvent: (event) => void (event.type === "task" && states.push(event.task.status)),
  });
  return { kind: execution.kind, outcome: seen(outcome), states };
}

async function handedOff(session: TasksClient["session"], tool: string, args: Record<string, string | number>) {
  const execution = await session.callTool(tool, args);
  if (execution.kind !== "task") throw new Error(`${tool} should have become a task.`);
  const reference = execution.serializeReference();
  await execution.handoff(() => {});
  return reference;
}

/** Resumes in a process that has seen nothing of the task but its reference. */
async function resumeElsewhere(reference: SerializedTaskReference): Promise<unknown> {
  const script = resolve(import.meta.dirname, "resume-task.ts");
  const child = spawn(process.execPath, [script, `${server.url}/mcp`, JSON.stringify(reference)]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise((closed) => child.once("close", closed));
  if (code !== 0) throw new Error(`The resuming process failed:\n${output}`);
  return seen(JSON.parse(output) as TaskOutcome<unknown>);
}

/** What of an outcome a caller would look at. */
function seen(outcome: TaskOutcome<unknown>): object {
  if (outcome.status === "completed") {
    const { content, isError } = outcome.result as { content: { text?: string }[]; isError?: boolean };
    return { status: outcome.status, text: content[0]?.text, ...(isError === undefined ? {} : { isError }) };
  }
  if (outcome.status === "failed") {
    const { code, message } = outcome.error;
    return { status: outcome.status, ...(code === undefined ? {} : { code }), message };
  }
  return { status: outcome.status };
}

/** Fills in a form as a person would who says yes to everything and is called Alice. */
function fillIn(params: { readonly [name: string]: unknown }) {
  const { properties } = params["requestedSchema"] as { properties: Record<string, { type: string }> };
  const content = Object.entries(properties).map(([name, { type }]) => [name, type === "boolean" ? true : "Alice"]);
  return { action: "accept", content: Object.fromEntries(content) as Record<string, string | boolean> } as const;
}
