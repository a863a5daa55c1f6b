import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/service/limits";
import type { TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { WorkAct, Worked } from "../../src/service/work";
import type { InputRequest, RunsIn, Task, TaskDraft } from "../../src/task/task";
import { limits as defaults, movableClock } from "../support/memory";
import { draft } from "../support/task";
import type { StoreParts } from "./stage";
import { accept, registry } from "./tools";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LEASE_MS = 30_000;
/** Longer than any pause after a failed attempt. */
const ANY_PAUSE_MS = 2 * MINUTE;

const result = (text: string, isError?: true): string =>
  JSON.stringify({ content: [{ type: "text", text }], ...(isError ? { isError } : {}) });

const form = (message: string): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: { v: { type: "string" } } } },
});

/** What every task store does with the reports of workers elsewhere. */
export function describeWork(makeStore: (parts: StoreParts) => TaskStore | Promise<TaskStore>): void {
  describe("work", () => {
    it("is given to one claim, which holds it until then", async () => {
      const { claim, read, clock, lease } = await setUp({}, { arguments: '{"n":1}' });
      const held = lease("a");
      const task = taskOf(await claim(held), "held");
      expect(task).toMatchObject({ lease: held, arguments: '{"n":1}', startedAt: expect.closeTo(clock(), -4) });
      expect(await read()).toMatchObject({ lease: held, stage: { phase: "working", activity: { kind: "running" } } });
      expect(await claim(lease("b"))).toMatchObject({ kind: "lost", task: { lease: { id: "a" } } });
    });

    it("is given to one of any number of parallel claims", async () => {
      const { claim, lease } = await setUp();
      const said = await Promise.all(Array.from({ length: 20 }, (_, n) => claim(lease(`l${n}`))));
      expect(said.map((one) => one?.kind).toSorted()).toEqual(["held", ...Array<string>(19).fill("lost")]);
    });

    it("is the same claim's when it is claimed again, and is then held as long as that claim says", async () => {
      const { claim, heartbeat, read, advance, lease } = await setUp();
      taskOf(await claim(lease("a")), "held");
      const { version } = await read();
      advance(LEASE_MS - 1_000);
      const again = lease("a");
      expect(taskOf(await claim(again), "held").lease).toEqual(again);
      advance(LEASE_MS - 1_000);
      expect(await heartbeat("a")).toMatchObject({ kind: "held" });
      expect((await read()).version).toBe(version);
    });

    it("changes nothing that anybody sees by heartbeats, however many", async () => {
      const { claim, heartbeat, read, store, id, advance, clock, lease } = await setUp({}, { ttlMs: 24 * HOUR });
      await claim(lease("a"));
      const before = await read();
      for (let n = 0; n < 20; n += 1) {
        advance(LEASE_MS - 1_000);
        const until = clock() + LEASE_MS;
        expect(await heartbeat("a", until)).toMatchObject({ kind: "held", task: { lease: { id: "a", until } } });
      }
      const after = await read();
      expect({ ...after, lease: null }).toEqual({ ...before, lease: null });
      const leaving = new AbortController();
      for await (const message of (await store.watch({ id, owner: "o" }, { after: 0, signal: leaving.signal })) ?? []) {
        if (message.kind === "event") expect(["created", "offered", "claimed"]).toContain(message.entry.event);
        if (message.kind === "event" && message.entry.event === "claimed") break;
      }
      leaving.abort();
    });

    it("is never held for less than was agreed, and without saying for how long, as long as it was claimed for", async () => {
      const { work, claim, clock, lease } = await setUp();
      const until = clock() + HOUR;
      await claim({ ...lease("a"), until, ms: 2 * HOUR });
      expect(await work({ kind: "heartbeat", lease: "a", until: clock() + 1_000 })).toMatchObject({
        task: { lease: { until } },
      });
      const renewed = taskOf(await work({ kind: "heartbeat", lease: "a" }), "held");
      expect(renewed.lease?.until).toBeGreaterThanOrEqual(clock() + 2 * HOUR - MINUTE);
    });

    describe("under a lease that is not in force", () => {
      const acts: readonly ((lease: string, until: number) => WorkAct)[] = [
        (lease, until) => ({ kind: "heartbeat", lease, until }),
        (lease, until) => ({ kind: "heartbeat", lease, until, progress: { progress: 1 } }),
        (lease) => ({ kind: "progress", lease, progress: { progress: 1 } }),
        (lease) => ({ kind: "ask", lease, questions: { k: form("Sure?") } }),
        (lease) => ({ kind: "complete", lease, result: result("late") }),
        (lease) => ({ kind: "complete", lease, result: "no result at all" }),
        (lease) => ({ kind: "fail", lease, error: { code: 1, message: "Late." }, retry: false }),
        (lease) => ({ kind: "fail", lease, error: { code: 1, message: "Late." }, retry: true }),
        (lease) => ({ kind: "release", lease }),
      ];

      it("changes nothing, whatever is reported", async () => {
        const { work, claim, read, clock, lease } = await setUp();
        for (const act of acts) expect(await work(act("b", clock() + HOUR))).toMatchObject({ kind: "lost" });
        await claim(lease("a"));
        const before = await read();
        for (const act of acts) {
          expect(await work(act("b", clock() + HOUR))).toMatchObject({ kind: "lost", task: { id: before.id } });
        }
        expect(await read()).toEqual(before);
      });

      it.each(acts.map((act) => [act("", 0).kind, act] as const))(
        "changes nothing when it has lapsed, though nobody else came: %s",
        async (_, act) => {
          const { work, claim, read, advance, clock, lease } = await setUp();
          await claim(lease("a"));
          advance(LEASE_MS);
          expect(await work(act("a", clock() + HOUR))).toMatchObject({ kind: "lost" });
          const lapsed = await read();
          expect(lapsed).toMatchObject({ attempts: 1, lease: null, stage: { activity: { kind: "backing_off" } } });
          expect(lapsed.statusMessage).toBe('Attempt 1 of 3: The worker "w" stopped reporting.');
          expect(await work(act("a", clock() + HOUR))).toMatchObject({ kind: "lost" });
          expect(await read()).toEqual(lapsed);
        },
      );

      it("changes nothing for a late worker while another is at it, nor after that", async () => {
        const { work, claim, read, advance, clock, lease } = await setUp();
        await claim(lease("a"));
        advance(LEASE_MS);
        // The lapse comes first, and with it the pause.
        expect(await claim(lease("b"))).toMatchObject({ kind: "lost" });
        advance(ANY_PAUSE_MS);
        expect(taskOf(await claim(lease("b")), "held")).toMatchObject({ attempts: 1 });
        const before = await read();
        for (const act of acts) expect(await work(act("a", clock() + HOUR))).toMatchObject({ kind: "lost" });
        expect(await read()).toEqual(before);
        await work({ kind: "complete", lease: "b", result: result("done") });
        const done = await read();
        for (const act of acts) expect(await work(act("a", clock() + HOUR))).toMatchObject({ kind: "lost" });
        expect(await read()).toEqual(done);
      });
    });

    it("is taken from silent workers until the attempts are used up, and clients can read why (W01)", async () => {
      const { claim, read, advance, lease } = await setUp({}, {}, { maxAttempts: 2 });
      await claim(lease("a"));
      advance(LEASE_MS);
      await claim(lease("b"));
      expect(await read()).toMatchObject({ attempts: 1, stage: { activity: { kind: "backing_off" } } });
      advance(ANY_PAUSE_MS);
      taskOf(await claim(lease("c")), "held");
      advance(LEASE_MS);
      expect(await claim(lease("d"))).toMatchObject({ kind: "lost" });
      const message = 'The worker "w" stopped reporting.';
      expect(await read()).toMatchObject({
        attempts: 2,
        statusMessage: `Attempt 2 of 2: ${message}`,
        stage: { phase: "settled", outcome: { kind: "error", error: { code: -32603, message } } },
      });
    });

    it("tells its worker of a cancel, and is handed out no more (W02)", async () => {
      const { work, claim, heartbeat, cancel, read, lease } = await setUp();
      await claim(lease("a"));
      await cancel();
      expect(await heartbeat("a")).toMatchObject({ kind: "cancelled" });
      expect(await work({ kind: "complete", lease: "a", result: result("late") })).toMatchObject({ kind: "cancelled" });
      expect(await claim(lease("a"))).toMatchObject({ kind: "lost" });
      expect(await claim(lease("b"))).toMatchObject({ kind: "lost" });
      expect((await read()).stage).toMatchObject({ outcome: { kind: "cancelled" } });
    });

    it("that nobody has is handed out no more once it is cancelled (W02)", async () => {
      const { claim, cancel, lease } = await setUp();
      await cancel();
      expect(await claim(lease("a"))).toMatchObject({ kind: "lost", task: { lease: null } });
    });

    it("is completed once: the same again is no fault, anything else is (W04)", async () => {
      const { work, claim, read, lease } = await setUp();
      await claim(lease("a"));
      const complete = (text: string) => work({ kind: "complete", lease: "a", result: result(text) });
      expect(await complete("r1")).toMatchObject({ kind: "settled" });
      expect(await complete("r1")).toMatchObject({ kind: "settled" });
      expect(await complete("r2")).toMatchObject({ kind: "lost" });
      const error = { code: 1, message: "No." };
      expect(await work({ kind: "fail", lease: "a", error, retry: false })).toMatchObject({ kind: "lost" });
      expect(await claim(lease("a"))).toMatchObject({ kind: "lost" });
      expect((await read()).stage).toMatchObject({ outcome: { kind: "result", result: result("r1"), isError: false } });
    });

    it("fails with a reason that clients can read, by error or by result (W05)", async () => {
      const failing = await setUp();
      await failing.claim(failing.lease("a"));
      const error = { code: -32001, message: "The disk is full.", data: '{"free":0}' };
      const fail = () => failing.work({ kind: "fail", lease: "a", error, retry: false });
      expect([await fail(), await fail()]).toMatchObject([{ kind: "settled" }, { kind: "settled" }]);
      expect(await failing.read()).toMatchObject({ statusMessage: error.message, stage: { outcome: { error } } });
      const reporting = await setUp();
      await reporting.claim(reporting.lease("a"));
      await reporting.work({ kind: "complete", lease: "a", result: result("It is not there.", true) });
      expect(await reporting.read()).toMatchObject({
        statusMessage: "It is not there.",
        stage: { outcome: { kind: "result", isError: true } },
      });
    });

    it("that failed and may be tried again waits, then is given out again, and fails for good at the last attempt", async () => {
      const { work, claim, read, advance, lease } = await setUp({ maxAttempts: 2 });
      const fail = (name: string) =>
        work({ kind: "fail", lease: name, error: { code: 7, message: "Busy." }, retry: true });
      await claim(lease("a"));
      expect(await fail("a")).toMatchObject({ kind: "returned", task: { lease: null } });
      expect(await read()).toMatchObject({ attempts: 1, statusMessage: "Attempt 1 of 2: Busy." });
      expect(await claim(lease("b"))).toMatchObject({ kind: "lost" });
      advance(ANY_PAUSE_MS);
      taskOf(await claim(lease("b")), "held");
      expect(await fail("b")).toMatchObject({ kind: "settled" });
      expect(await read()).toMatchObject({
        statusMessage: "Attempt 2 of 2: Busy.",
        stage: { outcome: { kind: "error", error: { code: 7, message: "Busy." } } },
      });
    });

    it("that is given back waits for another worker at once, and no attempt is lost", async () => {
      const { work, claim, read, lease } = await setUp();
      await claim(lease("a"));
      expect(await work({ kind: "release", lease: "a" })).toMatchObject({ kind: "returned" });
      expect(await read()).toMatchObject({ attempts: 0, lease: null });
      expect(taskOf(await claim(lease("b")), "held")).toMatchObject({ attempts: 0 });
    });

    it("shows how far it is", async () => {
      const { work, claim, heartbeat, read, clock, lease } = await setUp();
      const { until } = taskOf(await claim(lease("a")), "held").lease as { until: number };
      const progress = { message: "half", progress: 1, total: 2 };
      expect(await work({ kind: "progress", lease: "a", progress })).toMatchObject({ kind: "held" });
      expect(await read()).toMatchObject({ progress, lease: { until } });
      const later = { progress: 2 };
      await work({ kind: "heartbeat", lease: "a", until: clock() + HOUR, progress: later });
      expect(await read()).toMatchObject({ progress: later });
      expect(await heartbeat("a")).toMatchObject({ kind: "held" });
    });

    describe("that asks", () => {
      const ask = (lease: string, message = "Name?"): WorkAct => ({
        kind: "ask",
        lease,
        questions: { name: form(message) },
      });

      it("keeps its lease, and goes on under it with the answer", async () => {
        const { work, claim, heartbeat, answer, read, lease } = await setUp();
        await claim(lease("a"));
        expect(await work(ask("a"))).toMatchObject({ kind: "held", task: { stage: { phase: "input_required" } } });
        expect((await read()).openQuestions).toEqual([{ key: "name", request: form("Name?") }]);
        expect(await heartbeat("a")).toMatchObject({ kind: "held" });
        await answer({ name: accept("Ada") });
        const told = taskOf(await heartbeat("a"), "held");
        expect(told).toMatchObject({ lease: { id: "a" }, stage: { activity: { kind: "running" } } });
        expect(told.questions).toMatchObject([{ authorKey: "name", state: { answer: accept("Ada") } }]);
        expect(await work({ kind: "complete", lease: "a", result: result("Hello, Ada.") })).toMatchObject({
          kind: "settled",
        });
      });

      it("the same again is told what was answered, and asks nothing twice", async () => {
        const { work, claim, answer, read, lease } = await setUp();
        await claim(lease("a"));
        await work(ask("a"));
        const asked = await read();
        expect(await work(ask("a"))).toMatchObject({ kind: "held" });
        expect(await read()).toEqual(asked);
        await answer({ name: accept("Ada") });
        const answered = await read();
        const again = taskOf(await work(ask("a")), "held");
        expect(again.questions).toMatchObject([{ state: { kind: "answered", answer: accept("Ada") } }]);
        expect(await read()).toEqual(answered);
        expect(await work(ask("a", "Surname?"))).toMatchObject({ task: { stage: { phase: "input_required" } } });
        expect((await read()).openQuestions).toMatchObject([{ request: form("Surname?") }]);
      });

      it.each(["release", "lapse"])("and lets go by %s is parked, and its next worker has the answers", async (how) => {
        const { work, claim, answer, read, advance, lease } = await setUp();
        await claim(lease("a"));
        await work(ask("a"));
        if (how === "release") expect(await work({ kind: "release", lease: "a" })).toMatchObject({ kind: "returned" });
        else {
          advance(LEASE_MS);
          expect(await work({ kind: "heartbeat", lease: "a" })).toMatchObject({ kind: "lost" });
        }
        expect(await read()).toMatchObject({ lease: null, attempts: 0, stage: { phase: "input_required" } });
        expect(await claim(lease("b"))).toMatchObject({ kind: "lost" });
        await answer({ name: accept("Ada") });
        const next = taskOf(await claim(lease("b")), "held");
        expect(next).toMatchObject({ attempts: 0, questions: [{ state: { answer: accept("Ada") } }] });
      });

      it("is told of a cancel as any other", async () => {
        const { work, claim, heartbeat, cancel, lease } = await setUp();
        await claim(lease("a"));
        await work(ask("a"));
        await cancel();
        expect(await heartbeat("a")).toMatchObject({ kind: "cancelled" });
      });

      it("what its client cannot be asked is refused, and nothing has changed", async () => {
        const client = { revision: "test", capabilities: {}, principal: null };
        const { work, claim, read, lease } = await setUp({}, { client });
        await claim(lease("a"));
        const before = await read();
        expect(await work(ask("a"))).toMatchObject({ kind: "refused", code: "capability_missing" });
        expect(await read()).toEqual(before);
      });

      it("something else while a question is open is refused", async () => {
        const { work, claim, lease } = await setUp();
        await claim(lease("a"));
        await work(ask("a"));
        expect(await work(ask("a", "Surname?"))).toMatchObject({ kind: "refused", code: "conflict" });
      });
    });

    it.each([
      ["is not JSON", "no", {}, "invalid"],
      ["is no result", "1", {}, "invalid"],
      ["is not what its tool promised", result("text"), { output: '{"type":"object"}' }, "invalid"],
      ["is too large", result("x".repeat(2_000)), {}, "too_large"],
    ])("whose result %s is refused, still held, and may be completed with another", async (_, wrong, runs, code) => {
      const { work, claim, heartbeat, lease } = await setUp({ resultLimitBytes: 1_000 }, {}, runs);
      await claim(lease("a"));
      expect(await work({ kind: "complete", lease: "a", result: wrong })).toMatchObject({ kind: "refused", code });
      expect(await heartbeat("a")).toMatchObject({ kind: "held" });
      const right = "output" in runs ? '{"structuredContent":{"n":1},"content":[]}' : result("right");
      expect(await work({ kind: "complete", lease: "a", result: right })).toMatchObject({ kind: "settled" });
    });

    it("of a task that has expired is not there any more (A03)", async () => {
      const { work, claim, heartbeat, advance, store, lease } = await setUp({}, { ttlMs: MINUTE });
      await claim({ ...lease("a"), until: Number.MAX_SAFE_INTEGER });
      advance(MINUTE);
      expect(await heartbeat("a")).toBeNull();
      expect(await claim(lease("b"))).toBeNull();
      expect(await work({ kind: "complete", lease: "a", result: result("late") })).toBeNull();
      await store.sweep(1_000);
      expect(await heartbeat("a")).toBeNull();
    });

    it("of no task is not there, and leaves nothing behind", async () => {
      const { store, lease, clock } = await setUp();
      const id = store.mint();
      for (const unknown of [id, "nonsense"]) {
        expect(await store.work(unknown, { kind: "claim", lease: lease("a") })).toBeNull();
        expect(await store.work(unknown, { kind: "heartbeat", lease: "a", until: clock() + 1 })).toBeNull();
      }
      expect(await store.create(draft({ id, namespace: "n", owner: "o", createdAt: clock() }))).toMatchObject({
        kind: "created",
      });
    });

    it("carries arguments of megabytes to its worker, byte for byte", async () => {
      const text = JSON.stringify({ text: "\ud800😀\u2028\u0000".repeat(200_000) });
      const { claim, lease } = await setUp({}, { arguments: text });
      expect(taskOf(await claim(lease("a")), "held").arguments === text).toBe(true);
    });
  });

  /** One task that waits for a worker. */
  async function setUp(over: Partial<Limits> = {}, facts: Partial<TaskDraft> = {}, runs: object = {}) {
    const { now: clock, advance } = movableClock();
    const store = await makeStore({ registry, clock, limits: { ...defaults, ...over } });
    const where = { in: "queue", queue: "q", maxAttempts: null, output: null, ...runs } as RunsIn;
    const made = await store.create(
      draft({ id: store.mint(), namespace: "n", owner: "o", createdAt: clock(), ttlMs: HOUR, runs: where, ...facts }),
    );
    if (made.kind !== "created") throw new Error(`Not created: ${made.kind}`);
    const { id } = made.task;
    const ref = { id, owner: "o" };
    const work = (act: WorkAct) => store.work(id, act);
    return {
      store,
      id,
      clock,
      advance,
      work,
      lease: (name: string) => ({ id: name, until: clock() + LEASE_MS, worker: "w" }),
      claim: (lease: Extract<WorkAct, { kind: "claim" }>["lease"]) => work({ kind: "claim", lease }),
      heartbeat: (lease: string, until = clock() + LEASE_MS) => work({ kind: "heartbeat", lease, until }),
      read: async () => (await store.read(ref)) as TaskSnapshot,
      cancel: () => store.tell(ref, { kind: "cancel" }),
      answer: (answers: Readonly<Record<string, string>>) => store.tell(ref, { kind: "answer", answers }),
    };
  }
}

function taskOf(worked: Worked | null, kind: Worked["kind"]): Task {
  if (worked === null || worked.kind === "refused" || worked.kind !== kind)
    throw new Error(`Not ${kind}: ${JSON.stringify(worked)}`);
  return worked.task;
}
