// The Worker as a whole: settings, callers and the cron over the real objects.
import {
  createExecutionContext,
  createScheduledController,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHoldfast } from "../src/holdfast";
import { decodeTaskId, mintTaskId } from "../src/task-id";
import { fixtureClock, setClockOffset } from "./fixtures/clock";
import { fixtureTools } from "./fixtures/tools";
import fixtureWorker from "./fixtures/worker";
import { envelope, headersFor, only, withEverything, type Wire } from "./support/mcp";

const DAY = 86_400_000;

// The same tools and the same clock as those of the Worker whose objects are bound here.
const { handler } = createHoldfast({ tools: fixtureTools, clock: fixtureClock });

type Call = { readonly token?: string; readonly capabilities?: object; readonly id?: number };

/** The Worker with settings of its own. */
function serverWith(vars: Readonly<Record<string, string>> = {}) {
  const bindings = { ...env, ...vars };
  const post = (headers: Headers, body: string): Promise<Response> =>
    handler.fetch(
      new Request("http://localhost/mcp", { method: "POST", headers, body }),
      bindings,
      createExecutionContext(),
    );
  const send = (method: string, params: Wire = {}, { token, capabilities = withEverything, id = 1 }: Call = {}) =>
    post(
      headersFor(method, params, token),
      JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope(capabilities) } }),
    );
  const call = async (method: string, params?: Wire, options?: Call): Promise<Wire> =>
    only(await send(method, params, options));
  /** The id of a new task. */
  const start = async (name: string, args: object, options?: Call): Promise<string> =>
    (await call("tools/call", { name, arguments: args }, options)).result.taskId;
  const inStatus = (taskId: string, status: string, options?: Call): Promise<Wire> =>
    vi.waitUntil(
      async () => {
        const { result } = await call("tasks/get", { taskId }, options);
        return result?.status === status ? result : false;
      },
      { timeout: 10_000 },
    );
  const cron = () => handler.scheduled(createScheduledController(), bindings);
  return { post, send, call, start, inStatus, cron };
}

/** The bearer strings of the environment `owners` are the subjects' names. */
async function ownersTokens(...subjects: readonly string[]): Promise<string> {
  const entries = subjects.map(async (subject) => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subject)));
    return { sha256: digest.toHex(), subject, scopes: ["client"] };
  });
  return JSON.stringify(await Promise.all(entries));
}

const object = (taskId: string) => env.TASKS.get(env.TASKS.idFromString(decodeTaskId(taskId) as string));

/** The tables and the alarm of a task's object. */
const storedFor = (taskId: string) =>
  runInDurableObject(object(taskId), async (_, { storage }) => ({
    tables: storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    alarm: await storage.getAlarm(),
  }));

const NOTHING = { tables: [], alarm: null };

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
});
afterEach(async () => {
  vi.restoreAllMocks();
  setClockOffset(0);
  await reset();
});

describe("the cron", () => {
  const runCron = () => fixtureWorker.scheduled(createScheduledController(), env);
  const reports = () => printed.map((line) => JSON.parse(line) as Wire).filter(({ message }) => message === "Swept.");
  const report = () => reports().at(-1);

  it("collects what has expired and writes one line of what it did", async () => {
    const server = serverWith();
    const ids = await Promise.all([1, 2, 3].map(() => server.start("must", { ms: 1 })));
    for (const id of ids) await server.inStatus(id, "completed");
    await runCron();
    expect(report()).toMatchObject({ removed: 0, finished: true });
    setClockOffset(2 * DAY);
    printed = [];
    await runCron();
    expect(printed).toHaveLength(1);
    expect(report()).toEqual({
      level: "info",
      message: "Swept.",
      owners: expect.any(Number),
      examined: 3,
      removed: 3,
      dropped: 0,
      poked: 0,
      failures: 0,
      calls: expect.any(Number),
      finished: true,
      ms: expect.any(Number),
    });
    const { owners, calls } = report();
    expect([owners >= 1, owners <= 3, calls > 3]).toEqual([true, true, true]);
  });

  it("leaves of a collected task no storage and no alarm, and looking for it brings nothing back (P04)", async () => {
    const server = serverWith();
    const asking = await server.start("ask", { keys: ["k1"] });
    await server.inStatus(asking, "input_required");
    expect((await storedFor(asking)).alarm).not.toBeNull();
    setClockOffset(8 * DAY);
    await runCron();
    expect(await storedFor(asking)).toEqual(NOTHING);
    expect(await runDurableObjectAlarm(object(asking))).toBe(false);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const { error } = await server.call(method, { taskId: asking, inputResponses: {} });
      expect(error).toMatchObject({ code: -32602 });
    }
    expect(await storedFor(asking)).toEqual(NOTHING);
  });

  it("run twice at the same time, takes exactly what has expired, each task once (P06)", async () => {
    const AUTH_TOKENS = await ownersTokens("owner-a");
    const token = { token: "owner-a" };
    const statuses: Record<string, readonly [string, object]> = {
      working: ["must", { ms: 10 * DAY }],
      input_required: ["ask", { keys: ["k1"] }],
      completed: ["must", { ms: 1 }],
      failed: ["protocol_error_job", {}],
      cancelled: ["must", { ms: 10 * DAY }],
    };
    const ttls = {
      past: serverWith({ AUTH_TOKENS, TASK_TTL_MS: String(DAY) }),
      future: serverWith({ AUTH_TOKENS, TASK_TTL_MS: String(30 * DAY) }),
      unlimited: serverWith({ AUTH_TOKENS, TASK_TTL_MS: "unlimited", TASK_MAX_TTL_MS: "unlimited" }),
    };
    const { past: server } = ttls;
    const made: { readonly id: string; readonly ttl: string; readonly status: string }[] = [];
    for (const [ttl, { start }] of Object.entries(ttls)) {
      for (const [status, [tool, args]] of Object.entries(statuses)) {
        for (let n = 0; n < 2; n += 1) made.push({ id: await start(tool, args, token), ttl, status });
      }
    }
    for (const { id, status } of made) {
      if (status === "cancelled") await server.call("tasks/cancel", { taskId: id }, token);
      await server.inStatus(id, status, token);
    }
    // Beyond the retention too, which is what settled tasks without ttl have.
    setClockOffset(8 * DAY);
    const isOver = ({ ttl, status }: (typeof made)[number]) =>
      ttl === "past" || (ttl === "unlimited" && ["completed", "failed", "cancelled"].includes(status));
    const expired = made.filter(isOver);
    expect([made.length, expired.length]).toEqual([30, 16]);
    printed = [];
    await Promise.all([server.cron(), server.cron()]);
    const removed = reports().map((line) => line.removed as number);
    expect(removed).toHaveLength(2);
    expect(removed.reduce((sum, one) => sum + one)).toBe(16);
    for (const task of made) {
      const { result, error } = await server.call("tasks/get", { taskId: task.id }, token);
      expect([task, result === undefined, error?.code]).toEqual([
        task,
        isOver(task),
        isOver(task) ? -32602 : undefined,
      ]);
    }
    // Who comes too late with an answer does not bring it back.
    const late = expired.find(({ status }) => status === "input_required")?.id as string;
    const answer = { taskId: late, inputResponses: { k1: { action: "accept", content: { v: "late" } } } };
    expect((await server.call("tasks/update", answer, token)).error.code).toBe(-32602);
    expect(await storedFor(late)).toEqual(NOTHING);
    await server.cron();
    expect(report()).toMatchObject({ removed: 0, dropped: 0 });
  });
});

describe("a bad setting", () => {
  it.each([
    ["TASK_STORE", "redis:x"],
    ["TASK_TTL_MS", "-5"],
    ["AUTH_TOKENS", "oops"],
    ["AUTH_TOKENS", '[{ "sha256": "hunter2", "subject": "me", "scopes": ["client"] }]'],
  ])("%s=%s is told by its name, in the answer and in the log, to callers and to the cron", async (name, value) => {
    const server = serverWith({ [name]: value });
    const response = await server.send("tools/list");
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(text)).toEqual({
      jsonrpc: "2.0",
      error: { code: -32603, message: expect.stringMatching(`^${name} must be `) },
    });
    expect(printed.map((line) => JSON.parse(line))).toEqual([
      { level: "error", message: expect.stringMatching(`^${name} must be `) },
    ]);
    await expect(server.cron()).rejects.toThrow(name);
    expect(printed.slice(1).map((line) => JSON.parse(line))).toEqual([
      { level: "error", message: "The sweep failed.", error: expect.stringMatching(`^${name} must be `) },
    ]);
    // What is no secret is repeated, so that its owner finds it; what is, nowhere.
    const secret = name === "AUTH_TOKENS";
    for (const told of [text, ...printed])
      expect([told.includes("oops"), told.includes("hunter2"), told.includes(value)]).toEqual([false, false, !secret]);
  });
});

describe("owners", () => {
  const tokens = () => ownersTokens("owner-a", "owner-b");
  const a = { token: "owner-a" };
  const b = { token: "owner-b" };
  /** All of an answer that a caller can compare. */
  const whole = async (response: Response) => [
    response.status,
    [...response.headers].filter(([name]) => name !== "date"),
    await response.text(),
  ];
  const requests = (taskId: string): readonly (readonly [string, object])[] => [
    ["tasks/get", { taskId }],
    ["tasks/update", { taskId, inputResponses: { k1: { action: "accept", content: { v: "stolen" } } } }],
    ["tasks/cancel", { taskId }],
    ["subscriptions/listen", { notifications: { taskIds: [taskId] } }],
  ];

  it("cannot tell each other's tasks from ones that never were, and cannot touch them", async () => {
    const server = serverWith({ AUTH_TOKENS: await tokens() });
    const taskId = await server.start("ask", { keys: ["k1"] }, a);
    const before = await server.inStatus(taskId, "input_required", a);
    const random = mintTaskId(() => env.TASKS.newUniqueId().toString());
    const never = requests(random);
    for (const [n, [method, params]] of requests(taskId).entries()) {
      const foreign = await whole(await server.send(method, params, b));
      expect(foreign).toEqual(await whole(await server.send(method, (never[n] as [string, object])[1], b)));
      expect(foreign[2]).not.toContain(taskId);
    }
    expect((await server.call("tasks/get", { taskId }, b)).error).toEqual({
      code: -32602,
      message: "No such task, or it has expired.",
    });
    expect(await server.inStatus(taskId, "input_required", a)).toEqual(before);
    await server.call("tasks/update", { taskId, inputResponses: { k1: { action: "decline" } } }, a);
    expect((await server.inStatus(taskId, "completed", a)).result.content[0].text).toBe('{"k1":{"action":"decline"}}');
  });

  it("must say who they are: without a token, or with a wrong one, it is 401 for whatever id", async () => {
    const server = serverWith({ AUTH_TOKENS: await tokens() });
    const taskId = await server.start("ask", { keys: ["k1"] }, a);
    const before = await server.inStatus(taskId, "input_required", a);
    const answers = new Set<string>();
    for (const id of [taskId, mintTaskId(() => env.TASKS.newUniqueId().toString())]) {
      for (const [method, params] of requests(id)) {
        for (const token of [undefined, "owner-c"]) {
          const response = await server.send(method, params, token === undefined ? {} : { token });
          expect([response.status, response.headers.get("www-authenticate")]).toEqual([
            401,
            expect.stringMatching(/^Bearer /),
          ]);
          answers.add(JSON.stringify(await whole(response)));
        }
      }
    }
    expect(answers.size).toBe(1);
    expect(await server.inStatus(taskId, "input_required", a)).toEqual(before);
  });

  it("cannot name two tasks at once, so that one is judged and another is read (D09)", async () => {
    const server = serverWith({ AUTH_TOKENS: await tokens() });
    const [mine, foreign] = [await server.start("must", { ms: 1 }, b), await server.start("must", { ms: 1 }, a)];
    for (const [first, second] of [
      [mine, foreign],
      [foreign, mine],
    ] as const) {
      const params = `{"taskId":"${first}","taskId":"${second}","_meta":${JSON.stringify(envelope(withEverything))}}`;
      const body = `{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":${params}}`;
      const response = await server.post(headersFor("tasks/get", { taskId: mine }, "owner-b"), body);
      expect(response.status).toBe(400);
      expect(((await response.json()) as Wire).error.code).toBe(-32700);
    }
  });
});

describe("a task", () => {
  it("can be read by another request the moment it is named, a hundred times (B12)", async () => {
    const server = serverWith();
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () =>
        server.call("tasks/get", { taskId: await server.start("must", { ms: 1 }) }),
      ),
    );
    expect(answers.filter(({ error }) => error)).toEqual([]);
    expect(new Set(answers.map(({ result }) => result.taskId)).size).toBe(100);
  });

  it("whose argument holds a lone surrogate ends with a result that is valid JSON (D12)", async () => {
    const server = serverWith();
    const taskId = await server.start("slow", { ms: 1, text: "a\ud800b" });
    await server.inStatus(taskId, "completed");
    const bytes = await (await server.send("tasks/get", { taskId })).arrayBuffer();
    const { result } = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)) as Wire;
    // A boolean, because a lone surrogate in a failure's message would break the report.
    expect(["a\ud800b", "a\ufffdb"].includes(result.result.content[0].text)).toBe(true);
  });

  it("that was cancelled takes no answer any more (B05)", async () => {
    const server = serverWith();
    const taskId = await server.start("ask", { keys: ["k1"] });
    await server.inStatus(taskId, "input_required");
    await server.call("tasks/cancel", { taskId });
    const before = await server.inStatus(taskId, "cancelled");
    const late = { taskId, inputResponses: { k1: { action: "accept", content: { v: "late" } } } };
    expect((await server.call("tasks/update", late)).result).toMatchObject({ resultType: "complete" });
    expect(await server.inStatus(taskId, "cancelled")).toEqual(before);
  });
});

describe("a flood guard that is bound", () => {
  it("turns an address away before anything is done, in the wire's words, and lets others pass", async () => {
    const asked: string[] = [];
    const FLOOD_GUARD = {
      limit: async ({ key }: { key: string }) => {
        asked.push(key);
        return { success: key !== "1.2.3.4" };
      },
    };
    const { post } = serverWith({ FLOOD_GUARD } as never);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: envelope({}) } });
    const from = (address: string) => {
      const headers = headersFor("server/discover", {});
      headers.set("cf-connecting-ip", address);
      return post(headers, body);
    };
    const [flooding, quiet] = [await from("1.2.3.4"), await from("5.6.7.8")];
    expect([flooding.status, flooding.headers.get("retry-after"), quiet.status]).toEqual([429, "60", 200]);
    expect(await flooding.json()).toMatchObject({
      error: { code: 42901, data: { limit: "FLOOD_GUARD", retryAfterMs: 60_000 } },
    });
    expect(asked).toEqual(["1.2.3.4", "5.6.7.8"]);
  });
});
