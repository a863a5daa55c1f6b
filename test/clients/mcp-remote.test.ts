// The official SDK over stdio, and `mcp-remote` between it and the server; both unmodified.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { beginTask, connectSdkClientOver, streamCall, textOf, withTasks } from "./sdk-v1-client";

const MCP_REMOTE = resolve(import.meta.dirname, "../../node_modules/mcp-remote/dist/proxy.js");

let server: DevServer;
/** Where it would keep credentials. */
let home: string;
let client: Client;
const asked: string[] = [];

beforeAll(async () => {
  [server, home] = await Promise.all([
    startDevServer({ env: "owners" }),
    mkdtemp(join(tmpdir(), "holdfast-mcp-remote-")),
  ]);
  const options = ["--allow-http", "--header", "Authorization: Bearer owner-a"];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, `${server.url}/mcp`, ...options],
    env: { HOME: home },
    // What it says of itself while it works.
    stderr: "ignore",
  });
  client = await connectSdkClientOver(transport, {
    capabilities: withTasks,
    onForm: (message) => asked.push(message),
  });
});

afterAll(async () => {
  await client.close();
  await server.stop();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

describe("behind mcp-remote", () => {
  it("a task runs from its creation to its result", async () => {
    const { states, result, taskId } = await streamCall(client, "slow", { ms: 1_000, text: "through the pipe" });
    expect(states.at(-1)).toBe("completed");
    expect(textOf(result)).toBe("through the pipe");
    expect((await client.experimental.tasks.listTasks()).tasks[0]).toMatchObject({ taskId, status: "completed" });
  });

  it("a task asks, once, and goes on with the answer", async () => {
    const { states, result } = await streamCall(client, "confirm_delete", { filename: "a.txt" });
    expect(states.at(-1)).toBe("input_required");
    expect(textOf(result)).toBe("Deleted a.txt.");
    expect(asked).toEqual(["Delete a.txt?"]);
  });

  it("a task is cancelled", async () => {
    const { tasks } = client.experimental;
    const taskId = await beginTask(client, "must", { ms: 60_000 });
    expect(await tasks.cancelTask(taskId)).toMatchObject({ taskId, status: "cancelled" });
    await expect(tasks.getTaskResult(taskId)).rejects.toMatchObject({ code: -32602 });
  });

  it("a plain call is held open until its result", async () => {
    expect(textOf(await client.callTool({ name: "slow", arguments: { ms: 1_000, text: "held" } }))).toBe("held");
  });
});
