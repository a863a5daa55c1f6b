import { describe, expect, it } from "vitest";
import { serveStore, type StoreServed } from "../support/store";
import { everything, someone } from "../support/memory";
import type { Wire } from "../support/mcp";

const CLAIMS = "/queues/gpu/claims";
const as = "wendy";
const owner = someone("a");

/** A worker has claimed a task. */
async function claimed(args: Wire = {}) {
  const served = await serveStore();
  const taskId = await served.start(args);
  const { body } = await served.call("POST", CLAIMS, { as, body: { claimId: "c", waitMs: 5_000, leaseMs: 60_000 } });
  const { lease } = body.claims[0];
  const tell = (act: string, more: object = {}) =>
    served.call("POST", `/work/${taskId}/${act}`, { as, body: { lease, ...more } });
  return { ...served, taskId, lease, tell, claim: body.claims[0] };
}

const WHICH = {
  method: "elicitation/create",
  params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } },
};

const result = (text: string) => ({ content: [{ type: "text", text }] });

const phaseOf = async ({ tasks, taskId }: { tasks: StoreServed["tasks"]; taskId: string }) =>
  (await tasks.get(owner, taskId)).stage;

describe("a claim", () => {
  it("gives a task with all that its worker needs, the owner among it (F05)", async () => {
    const served = await serveStore();
    const taskId = await served.start({ scene: "s" });
    const { status, body } = await served.call("POST", CLAIMS, {
      as,
      body: { claimId: "c", worker: "w-1", max: 5, leaseMs: 60_000, waitMs: 5_000, tools: ["render"] },
    });
    expect(status).toBe(200);
    expect(body.claims).toEqual([
      {
        taskId,
        lease: expect.any(String),
        leaseUntil: expect.any(Number),
        tool: "render",
        owner: '["test","a"]',
        arguments: { scene: "s" },
        attempt: 1,
        createdAt: expect.any(Number),
        ttlMs: 86_400_000,
        expiresAt: expect.any(Number),
        contextId: expect.any(String),
        client: { revision: "test", capabilities: expect.any(Object) },
        answers: {},
        openQuestions: [],
      },
    ]);
  });

  it("gives the same tasks again for the same claim id: its answer may have been lost (W03)", async () => {
    const { call, taskId, lease } = await claimed();
    const again = await call("POST", CLAIMS, { as, body: { claimId: "c" } });
    expect(again.body.claims).toMatchObject([{ taskId, lease }]);
    expect((await call("POST", CLAIMS, { as, body: { claimId: "d" } })).body).toEqual({ claims: [] });
    expect((await call("POST", CLAIMS, { as: "root", body: { claimId: "c" } })).body).toEqual({ claims: [] });
  });

  it("waits for a task, and shows that it waits (P01)", async () => {
    const served = await serveStore();
    const response = await served.send("POST", CLAIMS, { as, body: { claimId: "c", waitMs: 30_000 } });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    const taskId = await served.start();
    const text = await response.text();
    expect(text).toMatch(/^\n/);
    expect(JSON.parse(text).claims).toMatchObject([{ taskId }]);
  });

  it("ends when its client leaves, and takes nothing along (P07)", async () => {
    const served = await serveStore();
    const signals: AbortSignal[] = [];
    const { work } = served.deps;
    const claim = work.claim.bind(work);
    work.claim = (principal, queue, wish, signal) => {
      signals.push(signal);
      return claim(principal, queue, wish, signal);
    };
    const leaving = new AbortController();
    const body = { claimId: "c", waitMs: 30_000 };
    const waiting = served.send("POST", CLAIMS, { as, body, signal: leaving.signal });
    await expect.poll(() => signals.length).toBe(1);
    leaving.abort();
    await waiting;
    const response = await served.send("POST", CLAIMS, { as, body });
    await response.body?.cancel();
    await expect.poll(() => signals.map((signal) => signal.aborted)).toEqual([true, true]);
    const taskId = await served.start();
    const other = await served.call("POST", CLAIMS, { as, body: { claimId: "d", waitMs: 5_000 } });
    expect(other.body.claims).toMatchObject([{ taskId }]);
  });

  it.each<[string, object]>([
    ["without an id", {}],
    ["with an empty id", { claimId: "" }],
    ["for none", { claimId: "c", max: 0 }],
    ["for too many", { claimId: "c", max: 101 }],
    ["with a wait that is too long", { claimId: "c", waitMs: 30_001 }],
    ["with a lease that is too short", { claimId: "c", leaseMs: 10 }],
    ["with an id that is too long", { claimId: "c".repeat(201) }],
    ["by a worker without a name", { claimId: "c", worker: "" }],
    ["for half a task", { claimId: "c", max: 1.5 }],
    ["with a wait into the past", { claimId: "c", waitMs: -1 }],
    ["with a lease that is too long", { claimId: "c", leaseMs: 3_600_001 }],
    ["for too many tools", { claimId: "c", tools: Array<string>(101).fill("t") }],
    ["with a wish nobody knows", { claimId: "c", wait: 1 }],
  ])("%s is refused", async (_, body) => {
    const { call } = await serveStore();
    const answer = await call("POST", CLAIMS, { as, body });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid"]);
  });

  it("of a queue that cannot be one is refused", async () => {
    const { call } = await serveStore();
    expect((await call("POST", "/queues/a%20b/claims", { as, body: { claimId: "c" } })).status).toBe(400);
  });
});

describe("a worker", () => {
  it("keeps its lease by a heartbeat, and tells how far it is", async () => {
    const work = await claimed();
    const beat = await work.tell("heartbeat", { leaseMs: 120_000 });
    expect([beat.status, beat.body]).toEqual([
      200,
      {
        kind: "held",
        taskId: work.taskId,
        lease: work.lease,
        leaseUntil: expect.any(Number),
        answers: {},
        openQuestions: [],
      },
    ]);
    expect(beat.body.leaseUntil).toBeGreaterThan(work.claim.leaseUntil);
    const progress = { message: "Half.", progress: 1, total: 2 };
    expect((await work.tell("progress", { progress })).body.kind).toBe("held");
    expect((await work.tasks.get(owner, work.taskId)).progress).toEqual(progress);
  });

  it("completes once: again the same is no fault, another is (W04)", async () => {
    const work = await claimed();
    const first = await work.tell("complete", { result: result("one") });
    const state = { phase: "settled", outcome: "result", isError: false };
    expect([first.status, first.body]).toMatchObject([200, { kind: "settled", state }]);
    expect((await work.tell("complete", { result: result("one") })).status).toBe(200);
    const other = await work.tell("complete", { result: result("two") });
    expect([other.status, other.body]).toMatchObject([409, { error: { code: "lease_lost" }, kind: "lost", state }]);
    const failed = await work.tell("fail", { error: { message: "no" } });
    expect([failed.status, failed.body.error.code]).toEqual([409, "lease_lost"]);
    expect(await phaseOf(work)).toMatchObject({ outcome: { kind: "result", result: JSON.stringify(result("one")) } });
  });

  it("that comes late changes nothing, and is told how the task stands (W01)", async () => {
    const work = await claimed();
    work.clock.advance(61_000);
    const late = await work.tell("complete", { result: result("late") });
    expect([late.status, late.body]).toMatchObject([
      409,
      { error: { code: "lease_lost" }, kind: "lost", state: { outcome: null } },
    ]);
    expect((await phaseOf(work)).phase).not.toBe("settled");
  });

  it("hears of a cancel with its next heartbeat, and is refused after it (W02)", async () => {
    const work = await claimed();
    await work.tasks.cancel(owner, work.taskId);
    const beat = await work.tell("heartbeat");
    expect([beat.status, beat.body]).toMatchObject([200, { kind: "cancelled", state: { outcome: "cancelled" } }]);
    const late = await work.tell("complete", { result: result("late") });
    expect([late.status, late.body]).toMatchObject([409, { error: { code: "cancelled" }, kind: "cancelled" }]);
  });

  it("asks, and has the answer with its next heartbeat", async () => {
    const work = await claimed();
    const asked = await work.tell("ask", { questions: { which: WHICH } });
    expect(asked.body).toMatchObject({ kind: "held", openQuestions: [{ key: "which", request: WHICH }] });
    await work.tasks.answer(owner, work.taskId, { which: '{"action":"accept","content":{}}' });
    const beat = await work.tell("heartbeat");
    expect(beat.body).toMatchObject({ answers: { which: { action: "accept", content: {} } }, openQuestions: [] });
  });

  it("fails with an error that the client sees, or gives the task back (W05)", async () => {
    const failing = await claimed();
    const error = { code: -32000, message: "No scene.", data: { n: 1.5 } };
    expect((await failing.tell("fail", { error })).body).toMatchObject({
      kind: "settled",
      state: { outcome: "error" },
    });
    expect(await phaseOf(failing)).toMatchObject({ outcome: { error: { ...error, data: '{"n":1.5}' } } });

    const releasing = await claimed();
    expect((await releasing.tell("release")).body).toMatchObject({ kind: "returned" });
    const again = await releasing.call("POST", CLAIMS, { as, body: { claimId: "d", waitMs: 5_000 } });
    expect(again.body.claims).toMatchObject([{ taskId: releasing.taskId }]);

    const retrying = await claimed();
    const told = await retrying.tell("fail", { error: { message: "Busy." }, retry: true });
    expect(told.body).toMatchObject({ kind: "returned", state: { phase: "working" } });
  });

  it.each<[string, object]>([
    ["heartbeat", {}],
    ["progress", { progress: { message: "x" } }],
    ["ask", { questions: { which: WHICH } }],
    ["complete", { result: {} }],
    ["fail", { error: { message: "x" } }],
    ["release", {}],
  ])("of a task that is not there gets 404 at %s, the same for every id", async (act, more) => {
    const { call, taskId } = await claimed();
    const answers = [];
    const other = `${taskId.startsWith("A") ? "B" : "A"}${taskId.slice(1)}`;
    for (const id of ["x", other, "%2e", "a b"]) {
      const path = `/work/${encodeURIComponent(id)}/${act}`;
      const { status, text } = await call("POST", path, { as, body: { lease: "x", ...more } });
      answers.push([status, text]);
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.[0]).toBe(404);
  });

  it.each<[string, object]>([
    ["heartbeat", {}],
    ["heartbeat", { lease: "" }],
    ["progress", { lease: "x", progress: { message: 7 } }],
    ["progress", { lease: "x", progress: { percent: 7 } }],
    ["ask", { lease: "x", questions: { q: { method: "tools/call", params: {} } } }],
    ["heartbeat", { lease: "x", leaseMs: 1e9 }],
    ["progress", { lease: "x", progress: {}, leaseMs: 1 }],
    ["ask", { lease: "x", questions: [] }],
    ["ask", { lease: "x", questions: { q: { method: "roots/list", params: {} } }, timeoutMs: 0 }],
    ["fail", { lease: "x", error: { message: "" } }],
    ["complete", { lease: "x" }],
    ["fail", { lease: "x", error: {} }],
    ["fail", { lease: "x", error: { message: "x", code: 1.5 } }],
    ["release", { lease: "x", now: true }],
  ])("whose %s is %j is told what is wrong with it", async (act, body) => {
    const { call, taskId } = await claimed();
    const answer = await call("POST", `/work/${taskId}/${act}`, { as, body });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid"]);
  });

  it("may be told that the client of its task cannot be asked", async () => {
    const work = await claimed();
    const unable = { ...everything, capabilities: {} };
    const tool = work.tool();
    const { task } = await work.tasks.start({ principal: owner, tool, arguments: {}, client: unable, origin: "test" });
    const { body } = await work.call("POST", CLAIMS, { as, body: { claimId: "d", waitMs: 5_000 } });
    const asking = { lease: body.claims[0].lease, questions: { which: WHICH } };
    const asked = await work.call("POST", `/work/${task.id}/ask`, { as, body: asking });
    expect([asked.status, asked.body.error.code]).toEqual([409, "capability_missing"]);
  });
});
