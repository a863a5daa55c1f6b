import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { call } from "../support/raw-client";

/** What a task lives at least: a sleep that does not fit in any more raises it, which is seen from outside. */
const TTL = 60_000;

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer({ env: "conformance", vars: { TASK_TTL_MS: String(TTL) } });
});
afterAll(() => server.stop());

const start = async (args: object): Promise<string> =>
  (await call(server.url, "tools/call", { name: "durable_report", arguments: args })).result.taskId;
const get = async (taskId: string): Promise<Wire> => (await call(server.url, "tasks/get", { taskId })).result;
const until = (taskId: string, wanted: (task: Wire) => boolean): Promise<Wire> =>
  vi.waitUntil(
    async () => {
      const task = await get(taskId);
      return wanted(task) ? task : false;
    },
    { timeout: 60_000, interval: 100 },
  );
const answer = (taskId: string): Promise<Wire> =>
  call(server.url, "tasks/update", {
    taskId,
    inputResponses: { publish: { action: "accept", content: { sure: true } } },
  });
const reportOf = (task: Wire): Wire => JSON.parse(task.result.content[0].text);
/** The message of a progress report also says how far it is. */
const gatheredOf = (task: Wire): readonly string[] => JSON.parse(/\[.*\]/.exec(task.statusMessage)?.[0] ?? "[]");

async function killAndRestart(): Promise<void> {
  await server.kill();
  await server.restart();
}

/** Starting wrangler is what takes the time, on a busy machine more than all of the rest. */
const SLOW = { timeout: 180_000 };

describe("a tool in a Workflow, under kill -9 of the whole server", SLOW, () => {
  it("goes on mid-sleep and mid-question: what it gathered before is what it reports (P02)", async () => {
    const taskId = await start({ topic: "ducks", sleepMs: 6_000 });
    const asleep = await until(taskId, ({ ttlMs }) => ttlMs > TTL);
    expect(asleep.status).toBe("working");
    const gathered = gatheredOf(asleep);
    expect(gathered).toHaveLength(2);

    await killAndRestart();
    const asking = await until(taskId, ({ status }) => status === "input_required");
    expect(Object.keys(asking.inputRequests)).toEqual(["publish"]);

    await killAndRestart();
    expect(await get(taskId)).toEqual(asking);
    await answer(taskId);
    const done = await until(taskId, ({ status }) => status === "completed");
    expect(reportOf(done)).toMatchObject({ gathered, publish: { action: "accept", content: { sure: true } } });
  });

  it("goes on mid-step: the step is done again, and those before it are not (P02)", async () => {
    const taskId = await start({ topic: "geese", pageMs: 2_000 });
    const begun = () => server.output().includes("durable_report began page 2 of geese");
    await vi.waitUntil(begun, { timeout: 30_000, interval: 50 });
    const [first] = gatheredOf(await get(taskId));

    await killAndRestart();
    await until(taskId, ({ status }) => status === "input_required");
    expect(server.output()).not.toContain("durable_report began page 1 of geese");
    await answer(taskId);
    const { gathered } = reportOf(await until(taskId, ({ status }) => status === "completed"));
    expect([gathered.length, gathered[0]]).toEqual([2, first]);
  });
});
