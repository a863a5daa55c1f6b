import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { call, send } from "../support/raw-client";

let server: DevServer;
beforeAll(async () => void (server = await startDevServer({ env: "conformance" })));
afterAll(() => server.stop());

/** What the fixture tools say when they begin, stop or finish. */
const said = (line: string): Promise<boolean> =>
  vi.waitUntil(() => server.output().includes(line), { timeout: 55_000, interval: 50 });

describe("a client that leaves", () => {
  it("stops the work of a plain call by closing its stream (P07)", async () => {
    const leave = new AbortController();
    const response = await send(
      server.url,
      "tools/call",
      { name: "slow", arguments: { ms: 50_000, text: "plain-1" } },
      { capabilities: {}, signal: leave.signal },
    );
    expect(response.headers.get("content-type")).toMatch(/event-stream/);
    await said("slow began: plain-1");
    leave.abort();
    await said("slow stopped: plain-1");
  });

  it("does not stop a task by leaving once the handle is out (P07)", async () => {
    const leave = new AbortController();
    const response = await send(
      server.url,
      "tools/call",
      { name: "slow", arguments: { ms: 1_500, text: "task-1" } },
      { signal: leave.signal },
    );
    const { result } = (await response.json()) as { result: { taskId: string } };
    leave.abort();
    await said("slow finished: task-1");
    const task = await vi.waitUntil(async () => {
      const { result: found } = await call(server.url, "tasks/get", { taskId: result.taskId });
      return found.status === "completed" ? found : false;
    });
    expect(task.result.content).toEqual([{ type: "text", text: "task-1" }]);
  });

  it("finishes more than 30 s of work with no client attached and the creating request long closed (P03, as far as a local runtime shows it)", async () => {
    const { result } = await call(server.url, "tools/call", { name: "slow", arguments: { ms: 33_000, text: "alone" } });
    // The server's own output is watched, not the server: nobody asks it anything meanwhile.
    await said("slow finished: alone");
    const { result: task } = await vi.waitUntil(async () => {
      const answer = await call(server.url, "tasks/get", { taskId: result.taskId });
      return answer.result.status === "completed" ? answer : false;
    });
    expect(Date.parse(task.lastUpdatedAt) - Date.parse(task.createdAt)).toBeGreaterThanOrEqual(33_000);
  });
});
