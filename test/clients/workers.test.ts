// Workers elsewhere, as scripts/ has them, with tasks that official clients of both eras made.
import { spawn, type ChildProcess } from "node:child_process";
import { resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { connectTasksClient } from "../../scripts/support/tasks-client";

const SCRIPTS = resolve(import.meta.dirname, "../../scripts");
const COMMANDS = {
  "worker.py": ["python3", `${SCRIPTS}/worker.py`],
  "worker.ts": [process.execPath, `${SCRIPTS}/worker.ts`],
} as const;

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer({ env: "owners", vars: { TASK_POLL_INTERVAL_MS: "250" } });
});
afterAll(() => server.stop());

describe.each(Object.entries(COMMANDS))("%s", (_, command) => {
  let worker: Worker | null = null;
  afterEach(() => worker?.child.kill("SIGKILL"));

  it("finishes what clients of both eras asked for", async () => {
    worker = startWorker(command);
    for (const era of ["modern", "legacy"] as const) {
      const { client, session } = await connectTasksClient(`${server.url}/mcp`, { token: "owner-a", era });
      const execution = await session.callTool("remote", { steps: 1 }, { task: { preference: "require" } });
      expect(execution.kind).toBe("task");
      expect(await execution.result()).toMatchObject({ status: "completed", result: counted(1) });
      await client.close();
    }
    await worker.said(/ settled\n.* settled\n/);
  });

  it("stops within a heartbeat of a cancel (W02)", async () => {
    worker = startWorker(command);
    const taskId = await start(3_600);
    await expect
      .poll(() => statusOf(taskId), { timeout: 30_000 })
      .toMatchObject({ statusMessage: expect.stringMatching(/^Step/) });
    await mcp("tasks/cancel", { taskId });
    await worker.said(new RegExp(`${taskId} stopped$`, "m"));
    expect(await statusOf(taskId)).toMatchObject({ status: "cancelled" });
  });

  it("changes nothing once its lease is lost (W01)", async () => {
    worker = startWorker(command);
    const taskId = await start(2);
    await expect
      .poll(() => statusOf(taskId), { timeout: 30_000 })
      .toMatchObject({ statusMessage: expect.stringMatching(/^Step 1/) });
    worker.child.kill("SIGSTOP");
    const lease = await claim(taskId);
    const result = { content: [{ type: "text", text: "By another." }] };
    expect(await post(`/work/${taskId}/complete`, { lease, result })).toMatchObject({ kind: "settled" });
    worker.child.kill("SIGCONT");
    await worker.said(new RegExp(`${taskId} (lost|stopped)$`, "m"));
    expect(await statusOf(taskId)).toMatchObject({ status: "completed", result });
  });
});

const counted = (steps: number) => ({ content: [{ type: "text", text: `Counted to ${steps}.` }] });

async function start(steps: number): Promise<string> {
  const { taskId } = await mcp("tools/call", { name: "remote", arguments: { steps } });
  return String(taskId);
}

const statusOf = (taskId: string) => mcp("tasks/get", { taskId });

/** A request of 2026-07-28 with the Tasks extension; its result. */
async function mcp(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      Authorization: "Bearer owner-a",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      "Mcp-Name": String(params["name"] ?? params["taskId"]),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  return ((await response.json()) as { result: Answer }).result;
}

async function post(path: string, body: object): Promise<Answer> {
  const response = await fetch(`${server.url}/store/v1${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer worker" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Answer;
}

/** Waits for the task to be claimable by somebody else. */
async function claim(taskId: string): Promise<string> {
  let lease = "";
  await expect
    .poll(
      async () => {
        const wish = { claimId: crypto.randomUUID(), worker: "another", waitMs: 2_000 };
        const { claims } = (await post("/queues/remote/claims", wish)) as {
          claims: { taskId: string; lease: string }[];
        };
        lease = claims[0]?.lease ?? "";
        return claims[0]?.taskId;
      },
      { timeout: 50_000 },
    )
    .toBe(taskId);
  return lease;
}

type Answer = { readonly [member: string]: unknown };

type Worker = { readonly child: ChildProcess; said(what: RegExp): Promise<void> };

/** With a short lease: what a killed one had still asked for comes back soon. */
function startWorker([command, ...args]: readonly string[]): Worker {
  let output = "";
  const child = spawn(command as string, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      HOLDFAST_URL: server.url,
      HOLDFAST_TOKEN: "worker",
      HOLDFAST_LEASE_MS: "1500",
    },
  });
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return { child, said: async (what) => expect.poll(() => output, { timeout: 50_000 }).toMatch(what) };
}
