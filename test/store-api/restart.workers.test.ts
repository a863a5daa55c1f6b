// What a deploy or a move of the platform's does: every object forgets what it has in memory.
import { evictAllDurableObjects, reset } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fixtureCallers } from "../support/fixture-callers";
import { events, type Wire } from "../support/mcp";

beforeEach(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  await reset();
});
afterEach(() => void vi.restoreAllMocks());

const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Which?",
    requestedSchema: { type: "object", properties: { v: { type: "string" } } },
  },
};
const ANSWER = { action: "accept", content: { v: "x" } };
const RESULT = { content: [{ type: "text", text: "Done elsewhere." }] };

describe("after everything was evicted", () => {
  it("tasks stand as they stood, and their worker goes on under its lease (P02)", async () => {
    const { mcp, start, claim, store } = await fixtureCallers();
    const get = async (taskId: string): Promise<Wire> => (await mcp("tasks/get", { taskId })).result;
    const tell = ({ taskId, lease }: Wire, act: string, more: object = {}) =>
      store("worker", "POST", `/work/${taskId}/${act}`, { body: { lease, ...more } });
    await start("remote", { n: 1 });
    const working = await claim();
    await tell(working, "progress", { progress: { message: "Half.", progress: 1, total: 2 } });
    await start("remote", { n: 2 });
    const asking = await claim();
    await tell(asking, "ask", { questions: { which: QUESTION } });
    await start("remote", { n: 3 });
    const done = await claim();
    await tell(done, "complete", { result: RESULT });
    const parked = await start("ask", { keys: ["k"] });
    await vi.waitUntil(async () => (await get(parked)).status === "input_required", { timeout: 20_000 });
    const waiting = await start("remote", { n: 4 });

    const ids = [working.taskId, asking.taskId, done.taskId, parked, waiting];
    const all = () => Promise.all(ids.map(get));
    const before = await all();
    expect(before.map(({ status }) => status)).toEqual([
      "working",
      "input_required",
      "completed",
      "input_required",
      "working",
    ]);
    await evictAllDurableObjects();
    expect(await all()).toEqual(before);

    // The same claim is given the same task; what waited still waits; what was told before is no fault.
    expect(await tell(working, "heartbeat")).toMatchObject({
      status: 200,
      body: { kind: "held", lease: working.lease },
    });
    expect(await tell(done, "complete", { result: RESULT })).toMatchObject({ status: 200, body: { kind: "settled" } });
    await evictAllDurableObjects();
    expect((await claim()).taskId).toBe(waiting);
    const [key] = Object.keys((await get(asking.taskId)).inputRequests);
    await mcp("tasks/update", { taskId: asking.taskId, inputResponses: { [`${key}`]: ANSWER } });
    await evictAllDurableObjects();
    expect((await tell(asking, "heartbeat")).body).toMatchObject({ kind: "held", answers: { which: ANSWER } });
    for (const job of [working, asking]) {
      await evictAllDurableObjects();
      expect(await tell(job, "complete", { result: RESULT })).toMatchObject({ status: 200, body: { kind: "settled" } });
      expect(await get(job.taskId)).toMatchObject({ status: "completed", result: RESULT });
    }
    // And what runs here goes on too.
    const [parkedKey] = Object.keys((await get(parked)).inputRequests);
    await mcp("tasks/update", { taskId: parked, inputResponses: { [`${parkedKey}`]: ANSWER } });
    await vi.waitUntil(async () => (await get(parked)).status === "completed", { timeout: 20_000 });
  });

  it("a lost answer to a claim is given again, and a lease still runs out (P02)", async () => {
    const { mcp, start, claim, store } = await fixtureCallers();
    const taskId = await start("remote");
    const first = await claim({ claimId: "mine", leaseMs: 1_000 });
    await evictAllDurableObjects();
    const again = await claim({ claimId: "mine", leaseMs: 1_000 });
    expect([again.taskId, again.lease]).toEqual([first.taskId, first.lease]);
    await evictAllDurableObjects();
    // Nobody reports: the alarm that ends the lease outlived the eviction.
    const next = await vi.waitUntil(async () => (await claim({ waitMs: 5_000 })) ?? false, { timeout: 25_000 });
    expect([next.taskId, next.attempt]).toEqual([taskId, 2]);
    const body = { lease: first.lease, result: RESULT };
    expect((await store("worker", "POST", `/work/${taskId}/complete`, { body })).status).toBe(409);
    expect((await mcp("tasks/get", { taskId })).result.status).toBe("working");
  });

  it("records, their logs, revisions, keys and declared tools are there (P02)", async () => {
    const { store, mcp } = await fixtureCallers();
    const RECORD = "/namespaces/default/records/r%2F1";
    const headers = { "Idempotency-Key": "k" };
    const body = { document: { n: 1 }, task: { inputRequests: { a: { m: 1 }, b: {} }, status: "input_required" } };
    await store("owner-a", "POST", "/namespaces/default/records", { body: { id: "r/1", ...body }, headers });
    await store("owner-a", "POST", `${RECORD}/responses`, { body: { inputResponses: { a: ANSWER } } });
    const DOCUMENT = "/namespaces/files/records/f";
    for (const n of [1, 2, 3]) await store("worker", "PUT", DOCUMENT, { body: { document: { n } } });
    const tool = { description: "Does it.", inputSchema: { type: "object" }, queue: "remote" };
    await store("worker", "PUT", "/tools/declared", { body: tool });
    const all = async () => [
      await store("owner-a", "GET", RECORD),
      await store("owner-a", "GET", `${RECORD}/events`),
      await store("owner-a", "GET", "/namespaces/default/records?status=input_required"),
      await store("worker", "GET", DOCUMENT),
      await store("worker", "GET", `${DOCUMENT}/revisions`),
      await store("worker", "GET", "/tools"),
    ];
    const before = await all();
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(before[4]?.body.revisions.map(({ version }: Wire) => version)).toEqual([3, 2, 1]);
    await evictAllDurableObjects();
    expect(await all()).toEqual(before);
    const repeated = await store("owner-a", "POST", "/namespaces/default/records", {
      body: { id: "r/1", ...body },
      headers,
    });
    expect([repeated.status, repeated.body.changed, repeated.body.version]).toEqual([200, false, 2]);
    const answered = await store("owner-a", "POST", `${RECORD}/responses`, { body: { inputResponses: { b: ANSWER } } });
    expect(answered.body).toMatchObject({ version: 3, seq: 3, task: { status: "working", inputRequests: {} } });
    const names = (await mcp("tools/list", {})).result.tools.map(({ name }: Wire) => name);
    expect(names).toContain("declared");
  });
});

describe("whoever waits while everything is evicted", () => {
  it("for work, is given what comes afterwards (P02)", async () => {
    const { start, send } = await fixtureCallers();
    const body = { claimId: "c", waitMs: 30_000, leaseMs: 600_000 };
    // Its headers come when it has begun to wait.
    const claiming = await send("worker", "POST", "/queues/remote/claims", { body });
    await evictAllDurableObjects();
    const taskId = await start("remote");
    expect(await claiming.json()).toMatchObject({ claims: [{ taskId }] });
  });

  it("for answers, on a stream or not, is told of each once (P02, D10)", async () => {
    const { store, send } = await fixtureCallers();
    const RECORD = "/namespaces/default/records/r";
    const task = { inputRequests: { a: {}, b: {} }, status: "input_required" };
    await store("owner-a", "POST", "/namespaces/default/records", { body: { id: "r", task } });
    const stream = await send("owner-a", "GET", `${RECORD}/events?after=1`, {
      headers: { Accept: "text/event-stream" },
    });
    const page = await send("owner-a", "GET", `${RECORD}/events?after=1&waitMs=30000`);
    await evictAllDurableObjects();
    for (const key of ["a", "b"]) {
      await store("owner-a", "POST", `${RECORD}/responses`, { body: { inputResponses: { [key]: ANSWER } } });
      await evictAllDurableObjects();
    }
    const { entries } = (await page.json()) as Wire;
    expect(entries[0].event).toEqual({ kind: "answered", key: "a", response: ANSWER });
    const heard = events(stream);
    for (const key of ["a", "b"])
      expect((await heard.next()).value.event).toEqual({ kind: "answered", key, response: ANSWER });
    await store("owner-a", "DELETE", RECORD);
    expect(await heard.next()).toEqual({ done: true, value: undefined });
  });
});
