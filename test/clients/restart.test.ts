import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { beginTask, connectSdkClient, textOf } from "./sdk-v1-client";

let server: DevServer;
/** Connected before the server was killed, and after it was started again. */
let early: Client;
let late: Client;
/** Made by `early`. */
let running: string;
let asking: string;
let answered: string;

const never = new Promise<void>(() => {});
/** The user of `early` thinks about one form until the server is back, and does not see the other. */
const decided = Promise.withResolvers<void>();
const askedEarly: string[] = [];
const askedLate: string[] = [];

beforeAll(async () => {
  server = await startDevServer({ env: "owners" });
  early = await connect("owner-a", (message) => {
    askedEarly.push(message);
    return message === "What is answered?" ? decided.promise : never;
  });
  [running, asking, answered] = await Promise.all([
    beginTask(early, "slow", { ms: 4_000, text: "survived" }),
    beginTask(early, "ask", { keys: ["open"] }),
    beginTask(early, "ask", { keys: ["answered"] }),
  ]);
  const ready = () => askedEarly.length === 2 && server.output().includes("slow began: survived");
  await vi.waitUntil(ready, { timeout: 30_000 });
  await server.kill();
  await server.restart();
  late = await connect("owner-a", (message) => {
    askedLate.push(message);
    return message === "What is open?" ? undefined : never;
  });
});

afterAll(async () => {
  await Promise.all([early.close(), late.close()]);
  await server.stop();
});

describe("after kill -9 and a restart", () => {
  it("a session of 2025-11-25 goes on (C06)", async () => {
    await early.ping();
    expect(await early.experimental.tasks.getTask(running)).toMatchObject({ taskId: running });
  });

  it("a session that never was is not found, and none is a mistake (C06)", async () => {
    const ping = async (session: object) => {
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: "Bearer owner-a",
        ...session,
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      return (await fetch(`${server.url}/mcp`, { method: "POST", headers, body })).status;
    };
    expect(await ping({ "mcp-session-id": "never" })).toBe(404);
    expect(await ping({})).toBe(400);
  });

  it("the work that was cut off is done, for the session that began it and for another of its owner (F01)", async () => {
    const results = [early, late].map((client) => result(client, running));
    expect((await Promise.all(results)).map(textOf)).toEqual(["survived", "survived"]);
  });

  it("an answer counts to a question from before", async () => {
    expect(await early.experimental.tasks.getTask(answered)).toMatchObject({ status: "input_required" });
    decided.resolve();
    const done = async () => (await early.experimental.tasks.getTask(answered)).status === "completed";
    await vi.waitUntil(done, { timeout: 30_000, interval: 250 });
    expect(textOf(await result(late, answered))).toMatch(/"answered":.*Alice/);
  });

  it("a question that was open is asked again, in another session of its owner (F01)", async () => {
    // Whoever was asked keeps the question until it leaves; this session may have come back first.
    await early.close();
    expect(textOf(await result(late, asking))).toMatch(/"open":.*Alice/);
    expect(askedLate).toContain("What is open?");
  });

  it("the tasks are listed to their owner, and to nobody else (F01)", async () => {
    const { tasks } = await late.experimental.tasks.listTasks();
    expect(tasks.map(({ taskId }) => taskId).toSorted()).toEqual([running, asking, answered].toSorted());
    const other = await connect("owner-b", () => never);
    expect((await other.experimental.tasks.listTasks()).tasks).toEqual([]);
    await expect(result(other, running)).rejects.toMatchObject({ code: -32602 });
    await other.close();
  });
});

const connect = (token: string, onForm: (message: string) => unknown): Promise<Client> =>
  connectSdkClient(`${server.url}/mcp`, { token, onForm });

const result = (client: Client, taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
