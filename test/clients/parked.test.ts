import { afterEach, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { call, send } from "../support/raw-client";

const MINUTE = 60_000;
const WEEK = 7 * 86_400_000;

let server: DevServer;
afterEach(() => server.stop());

const create = async (name: string, args: object, token?: string): Promise<string> =>
  (await call(server.url, "tools/call", { name, arguments: args }, token === undefined ? {} : { token })).result.taskId;
const get = (taskId: string, token?: string): Promise<Wire> =>
  call(server.url, "tasks/get", { taskId }, token === undefined ? {} : { token });
const until = (taskId: string, wanted: (task: Wire) => boolean, token?: string): Promise<Wire> =>
  vi.waitUntil(
    async () => {
      const { result } = await get(taskId, token);
      return wanted(result) ? result : false;
    },
    { timeout: 30_000, interval: 100 },
  );

async function killAndRestart(): Promise<void> {
  await server.kill();
  await server.restart();
}

/** Starting wrangler is what takes the time, on a busy machine more than all of the rest. */
const SLOW = { timeout: 120_000 };

describe("a task that waits", SLOW, () => {
  it("a week, through two kills of the server, stands unchanged until then; an answer acked before a kill is kept (B03)", async () => {
    server = await startDevServer({ env: "conformance" });
    const [parkedId, askingId] = [await create("park", { ms: WEEK }), await create("ask", { keys: ["k1"] })];
    // The sleep raises the ttl beyond its end: from then on the task is parked.
    const parked = await until(parkedId, ({ ttlMs }) => ttlMs > WEEK);
    expect(parked.status).toBe("working");
    const asking = await until(askingId, ({ status }) => status === "input_required");

    await killAndRestart();
    expect((await get(parkedId)).result).toEqual(parked);
    expect((await get(askingId)).result).toEqual(asking);
    const inputResponses = { k1: { action: "accept", content: { v: "yes" } } };
    const { result: ack } = await call(server.url, "tasks/update", { taskId: askingId, inputResponses });
    expect(ack.resultType).toBe("complete");

    await killAndRestart();
    expect((await get(parkedId)).result).toEqual(parked);
    const answered = await until(askingId, ({ status }) => status === "completed");
    expect(JSON.parse(answered.result.content[0].text)).toEqual(inputResponses);

    await moveClock(WEEK + 2 * MINUTE);
    expect((await get(parkedId)).result.lastUpdatedAt).toBe(parked.lastUpdatedAt);
    expect(await runCron()).toMatchObject({ level: "info", poked: 1, failures: 0, finished: true });
    const awake = await until(parkedId, ({ status }) => status === "completed");
    expect(awake.result.content).toEqual([{ type: "text", text: "awake" }]);
    expect(Date.parse(awake.lastUpdatedAt) - Date.parse(parked.lastUpdatedAt)).toBeGreaterThanOrEqual(WEEK);
  });
});

describe("the environment owners", SLOW, () => {
  it("serves each bearer string as a caller of its own, and nobody without one", async () => {
    server = await startDevServer({ env: "owners" });
    const taskId = await create("must", { ms: 1 }, "owner-a");
    expect((await until(taskId, ({ status }) => status === "completed", "owner-a")).result.content[0].text).toBe(
      "done",
    );
    for (const token of ["owner-b", "admin"]) expect((await get(taskId, token)).error.code).toBe(-32602);
    const status = async (token?: string) =>
      (await send(server.url, "tasks/get", { taskId }, token === undefined ? {} : { token })).status;
    // `worker` is known, but its scope is not that of a client.
    expect([await status("worker"), await status("owner-c"), await status()]).toEqual([403, 401, 401]);
  });
});

async function moveClock(offsetMs: number): Promise<void> {
  const response = await fetch(`${server.url}/__fixture/clock`, { method: "POST", body: JSON.stringify({ offsetMs }) });
  expect(response.status).toBe(200);
}

/** As wrangler offers it locally: runs the cron once. Returns the line it wrote. */
async function runCron(): Promise<Wire> {
  const response = await fetch(`${server.url}/cdn-cgi/local/scheduled`);
  expect(response.status).toBe(200);
  return vi.waitUntil(() => {
    const line = /^\{.*"message":"Swept\.".*\}$/m.exec(server.output())?.[0];
    return line === undefined ? false : (JSON.parse(line) as Wire);
  });
}
