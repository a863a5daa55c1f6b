// The Inspector's command line client, unmodified: each command is a process of its own.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { call } from "../support/raw-client";

const MCPDO = resolve(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js",
);

const OWNER = "owner-a";

let server: DevServer;
/** Where it keeps its connections and its daemon's socket. */
let home: string;

beforeAll(async () => {
  [server, home] = await Promise.all([startDevServer({ env: "owners" }), mkdtemp(join(tmpdir(), "holdfast-mcpdo-"))]);
  const as = ["--elicit", "form", "--header", `Authorization: Bearer ${OWNER}`];
  const connected = await mcpdo("connect", `${server.url}/mcp`, "--era", "modern", ...as);
  expect(connected).toMatchObject({ code: 0, json: { protocolEra: "modern" } });
  const connectedToo = await legacy("connect", `${server.url}/mcp`, "--era", "legacy", ...as);
  expect(connectedToo).toMatchObject({ code: 0, json: { protocolEra: "legacy" } });
});

afterAll(async () => {
  // It leaves a daemon behind, which would outlive the tests.
  await mcpdo("daemon", "stop");
  await server.stop();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

describe("mcpdo", () => {
  it("calls a slow tool and prints its result", async () => {
    const { code, json } = await mcpdo("tools/call", "slow_compute", "seconds:=1", "label:=pi");
    expect({ code, json }).toMatchObject({
      code: 0,
      json: { content: [{ type: "text", text: "Computed pi in 1 s." }] },
    });
  });

  it("tells a tool error by its exit code", async () => {
    const { code, json } = await mcpdo("tools/call", "failing_job");
    expect({ code, json }).toMatchObject({ code: 5, json: { isError: true } });
  });

  it("tells a failed task by its exit code", async () => {
    const { code, output } = await mcpdo("tools/call", "protocol_error_job");
    expect(code).toBe(1);
    expect(output).toContain("This job ends with a protocol error on purpose.");
  });

  it("is asked, answers, and gets the result", async () => {
    const { json: asked } = await mcpdo("tools/call", "confirm_delete", "filename:=a.txt");
    expect(asked).toMatchObject({ elicitationPending: { message: "Delete a.txt?", origin: "task-input-required" } });
    const { code, json } = await mcpdo("elicitation/respond", asked.elicitationPending.elicitationId, "confirm:=true");
    expect({ code, json }).toMatchObject({ code: 0, json: { content: [{ text: "Deleted a.txt." }] } });
  });

  it("gets and cancels a task that another client made", async () => {
    const taskId = await createTask("slow", { ms: 60_000 });
    expect(await mcpdo("tasks/get", taskId)).toMatchObject({ code: 0, json: { task: { taskId, status: "working" } } });
    expect(await mcpdo("tasks/cancel", taskId)).toMatchObject({ code: 0, json: { cancelled: true } });
    expect(await mcpdo("tasks/get", taskId)).toMatchObject({
      code: 0,
      json: { task: { taskId, status: "cancelled" } },
    });
  });

  it("answers a task's question by hand, and fetches the result", async () => {
    const taskId = await createTask("ask", { keys: ["k1"] });
    await vi.waitUntil(async () => (await mcpdo("tasks/get", taskId)).json.task.status === "input_required", {
      timeout: 30_000,
    });
    const answers = JSON.stringify({ k1: { action: "accept", content: { v: "yes" } } });
    expect(await mcpdo("tasks/update", taskId, "--input-responses", answers)).toMatchObject({
      code: 0,
      json: { updated: true },
    });
    const { code, json } = await mcpdo("tasks/result", taskId);
    expect(code).toBe(0);
    expect(JSON.parse(json.content[0].text)).toEqual({ k1: { action: "accept", content: { v: "yes" } } });
  });

  it("is told that there is no such task", async () => {
    const { code, output } = await mcpdo("tasks/get", "A".repeat(43));
    expect(code).toBe(1);
    expect(output).toContain("No such task, or it has expired.");
  });
});

describe("mcpdo on 2025-11-25", () => {
  it("calls a slow tool as a task and prints its result", async () => {
    const { code, json } = await legacy("tools/call", "slow_compute", "seconds:=1", "label:=pi", "--task");
    expect({ code, json }).toMatchObject({
      code: 0,
      json: {
        content: [{ type: "text", text: "Computed pi in 1 s." }],
        _meta: { "io.modelcontextprotocol/related-task": { taskId: expect.any(String) } },
      },
    });
  });

  it("calls a slow tool without asking for a task and prints its result", async () => {
    const { code, json } = await legacy("tools/call", "slow_compute", "seconds:=1", "label:=pi");
    expect({ code, json }).toMatchObject({ code: 0, json: { content: [{ text: "Computed pi in 1 s." }] } });
    expect(json._meta).toBeUndefined();
  });

  it("is asked about its task, answers, and gets the result", async () => {
    const { json: asked } = await legacy("tools/call", "confirm_delete", "filename:=a.txt", "--task");
    expect(asked).toMatchObject({ elicitationPending: { message: "Delete a.txt?", origin: "server-request" } });
    const { code, json } = await legacy("elicitation/respond", asked.elicitationPending.elicitationId, "confirm:=true");
    expect({ code, json }).toMatchObject({ code: 0, json: { content: [{ text: "Deleted a.txt." }] } });
  });

  it("is asked within a call, answers, and gets the result", async () => {
    const { json: asked } = await legacy("tools/call", "ask", 'keys:=["k1"]');
    expect(asked).toMatchObject({ elicitationPending: { message: "What is k1?", origin: "server-request" } });
    const { code, json } = await legacy("elicitation/respond", asked.elicitationPending.elicitationId, "v:=yes");
    expect(code).toBe(0);
    expect(JSON.parse(json.content[0].text)).toEqual({ k1: { action: "accept", content: { v: "yes" } } });
  });

  it("tells a failed task by its exit code", async () => {
    const { code, output } = await legacy("tools/call", "protocol_error_job", "--task");
    expect(code).toBe(1);
    expect(output).toContain("This job ends with a protocol error on purpose.");
  });

  it("lists, gets, awaits and cancels tasks that another client made", async () => {
    const [done, running] = [await createTask("must", { ms: 1 }), await createTask("slow", { ms: 60_000 })];
    const listed = await legacy("tasks/list");
    expect(listed.code).toBe(0);
    expect(listed.json.tasks.slice(0, 2)).toMatchObject([{ taskId: running, status: "working" }, { taskId: done }]);
    expect(await legacy("tasks/result", done)).toMatchObject({ code: 0, json: { content: [{ text: "done" }] } });
    expect(await legacy("tasks/get", done)).toMatchObject({ code: 0, json: { task: { status: "completed" } } });
    expect(await legacy("tasks/cancel", running)).toMatchObject({ code: 0, json: { cancelled: true } });
    expect(await legacy("tasks/get", running)).toMatchObject({ code: 0, json: { task: { status: "cancelled" } } });
  });

  it("is told that there is no such task", async () => {
    const { code, output } = await legacy("tasks/result", "A".repeat(43));
    expect(code).toBe(1);
    expect(output).toContain("No such task, or it has expired.");
  });
});

async function createTask(name: string, args: object): Promise<string> {
  const { result } = await call(server.url, "tools/call", { name, arguments: args }, { token: OWNER });
  return result.taskId;
}

type Said = {
  readonly code: unknown;
  /** Everything it printed. */
  readonly output: string;
  // What it printed as JSON on standard output; a test reads it and fails where it is not what it expects.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
};

const mcpdo = (...args: readonly string[]): Promise<Said> => run(["--connection", "modern", ...args]);
const legacy = (...args: readonly string[]): Promise<Said> => run(["--connection", "legacy", ...args]);

async function run(args: readonly string[]): Promise<Said> {
  const child = spawn(process.execPath, [MCPDO, "--format", "json", ...args], {
    // Nothing on standard input: it would wait for a person there.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: "memory", NO_COLOR: "1" },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise((closed) => child.once("close", closed));
  return { code, output: stdout + stderr, json: stdout.trimStart().startsWith("{") ? JSON.parse(stdout) : null };
}
