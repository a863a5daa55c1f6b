// What clients see of their streams while the server is busy with the tasks of others.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { call, send } from "../support/raw-client";

/** Tasks that others run at the same time, one after the other in each of as many places. */
const PLACES = 8;

let server: DevServer;
let isOver = false;
let others: readonly Promise<number>[] = [];

beforeAll(async () => {
  server = await startDevServer({ env: "conformance", vars: { CREATES_PER_MINUTE: "10000" } });
  others = Array.from({ length: PLACES }, keepBusy);
  // The last test looks at what became of them.
  for (const other of others) other.catch(() => {});
});
afterAll(async () => {
  isOver = true;
  await Promise.allSettled(others);
  await server.stop();
});

/** How many tasks went through, all of them well. */
async function keepBusy(): Promise<number> {
  for (let done = 0; ; done += 1) {
    if (isOver) return done;
    const { result } = await call(server.url, "tools/call", { name: "steps", arguments: { count: 5, ms: 50 } });
    await vi.waitUntil(
      async () => {
        const { status } = (await call(server.url, "tasks/get", { taskId: result.taskId })).result;
        if (status !== "working" && status !== "completed") throw new Error(`A task of the load is ${status}.`);
        return status === "completed";
      },
      { timeout: 60_000, interval: 250 },
    );
  }
}

/** Reads a stream until its end; `text` grows meanwhile. */
function listening(response: Response) {
  let text = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  const over = read().catch(() => {});
  return { text: () => text, comments: () => text.match(/^:/gm)?.length ?? 0, over };
}

const said = (line: string): Promise<boolean> =>
  vi.waitUntil(() => server.output().includes(line), { timeout: 55_000, interval: 50 });

const unbuffered = (response: Response): void => {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/event-stream/);
  expect(response.headers.get("cache-control")).toMatch(/no-cache|no-store/);
  expect(response.headers.get("x-accel-buffering")).toBe("no");
};

describe("while others keep the server busy", { timeout: 120_000 }, () => {
  it("a quiet stream begins before there is anything to say, and is never quiet for long (P01)", async () => {
    const { result: parked } = await call(server.url, "tools/call", { name: "park", arguments: { ms: 3_600_000 } });
    const leave = new AbortController();
    const listen = await send(
      server.url,
      "subscriptions/listen",
      { notifications: { taskIds: [parked.taskId] } },
      { signal: leave.signal },
    );
    const plain = await send(
      server.url,
      "tools/call",
      { name: "slow", arguments: { ms: 20_000, text: "quiet" } },
      { capabilities: {} },
    );
    for (const response of [listen, plain]) unbuffered(response);
    expect(server.output()).not.toContain("slow finished: quiet");
    const [subscription, held] = [listening(listen), listening(plain)];
    await held.over;
    // One comment in fifteen seconds at least, and the answer after them.
    expect(held.comments()).toBeGreaterThanOrEqual(1);
    expect(held.text()).toMatch(/^:[^]*data: .*quiet/m);
    await vi.waitUntil(() => subscription.comments() >= 2, { timeout: 55_000, interval: 100 });
    leave.abort();
    await subscription.over;
  });

  it("a client that leaves ends the work of its plain call, and no task (P07)", async () => {
    const leaving = new AbortController();
    const slow = (text: string, ms: number, capabilities?: object) =>
      send(
        server.url,
        "tools/call",
        { name: "slow", arguments: { ms, text } },
        { signal: leaving.signal, ...(capabilities ? { capabilities } : {}) },
      );
    unbuffered(await slow("left alone", 50_000, {}));
    const { result } = (await (await slow("stays a task", 3_000)).json()) as { result: { taskId: string } };
    await said("slow began: left alone");
    leaving.abort();
    await said("slow stopped: left alone");
    await said("slow finished: stays a task");
    expect(server.output()).not.toContain("slow stopped: stays a task");
    const done = await vi.waitUntil(
      async () => {
        const task = (await call(server.url, "tasks/get", { taskId: result.taskId })).result;
        return task.status === "completed" ? task : false;
      },
      { timeout: 55_000, interval: 100 },
    );
    expect(done.result.content).toEqual([{ type: "text", text: "stays a task" }]);
  });

  it("the others were served all the time", async () => {
    isOver = true;
    const done = await Promise.all(others);
    expect(Math.min(...done)).toBeGreaterThan(0);
  });
});
