import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/service/limits";
import type { TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { WorkQueues } from "../../src/service/work-queue";
import { WorkService, type ClaimWish, type Work, type WorkAnswer } from "../../src/service/work-service";
import type { InputRequest, Owner, TaskDraft } from "../../src/task/task";
import { limits as defaults, movableClock, someone } from "../support/memory";
import { draft } from "../support/task";
import type { StoreParts } from "./stage";
import { accept, registry } from "./tools";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LEASE_MS = 30_000;
/** Longer than any pause after a failed attempt, and than a late alarm is waited for. */
const LATER_MS = 3 * MINUTE;

const NEVER = new AbortController().signal;
const worker = someone("worker");
const result = (text: string): string => JSON.stringify({ content: [{ type: "text", text }] });
const form: InputRequest = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Name?",
    requestedSchema: { type: "object", properties: { v: { type: "string" } } },
  },
};

export type Deployment = { readonly store: TaskStore; readonly queues: WorkQueues };

/** What workers elsewhere meet, whatever the deployment keeps its tasks and queues in. */
export function describeWorkers(name: string, deploy: (parts: StoreParts) => Deployment | Promise<Deployment>): void {
  describe(name, () => {
    async function setUp(over: Partial<Limits> = {}) {
      const { now: clock, advance } = movableClock();
      const limits = { ...defaults, ...over };
      const { store, queues } = await deploy({ registry, clock, limits });
      const service = new WorkService({ store, queues, limits, clock });
      let claims = 0;
      const claim = (wish: Partial<ClaimWish> = {}, { signal = NEVER, as = worker } = {}) => {
        claims += 1;
        return service.claim(as, "q", { claimId: `claim ${claims}`, worker: "w", ...wish }, signal);
      };
      const read = async (id: string, owner: Owner = "o") => (await store.read({ id, owner })) as TaskSnapshot;
      const add = async (facts: Partial<TaskDraft> = {}) => {
        const runs = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
        const made = await store.create(
          draft({ id: store.mint(), namespace: "n", owner: "o", createdAt: clock(), ttlMs: 24 * HOUR, runs, ...facts }),
        );
        if (made.kind !== "created") throw new Error(`Not created: ${made.kind}`);
        return made.task.id;
      };
      /** A task that lies in its queue. */
      const create = async (facts: Partial<TaskDraft> = {}) => {
        const id = await add(facts);
        await offered(id, facts.owner);
        return id;
      };
      const offered = (id: string, owner?: Owner) =>
        expect.poll(async () => (await read(id, owner)).offeredAt, { timeout: 10_000 }).not.toBeNull();
      const claimed = async (wish: Partial<ClaimWish> = {}): Promise<Work> => {
        const [work] = await claim(wish);
        if (!work) throw new Error("There was nothing to claim.");
        return work;
      };
      /** Time passes, and whoever must act on it does. */
      const pass = async (ms: number) => {
        advance(ms);
        await store.sweep(1_000);
      };
      return { store, queues, service, clock, claim, claimed, read, add, create, offered, pass, advance };
    }

    describe("a claim", () => {
      it("brings what a worker needs, who asked among it, and never a credential (F05)", async () => {
        const { create, claimed, clock } = await setUp();
        const owner = JSON.stringify(["issuer", "subject"]);
        const capabilities = { elicitation: {} };
        const principal = { issuer: "issuer", subject: "subject" };
        const client = { revision: "2026-07-28", capabilities, principal, progressToken: "p" };
        const facts = { owner, tool: "render", arguments: '{"n":1}', contextId: "c", client, ttlMs: HOUR };
        const id = await create(facts);
        const work = await claimed();
        expect(work).toEqual({
          taskId: id,
          lease: expect.any(String),
          leaseUntil: expect.any(Number),
          tool: "render",
          owner,
          arguments: '{"n":1}',
          attempt: 1,
          createdAt: expect.any(Number),
          ttlMs: HOUR,
          expiresAt: work.createdAt + HOUR,
          contextId: "c",
          client: { revision: "2026-07-28", capabilities },
          answers: {},
          openQuestions: [],
        });
        expect(work.leaseUntil - clock()).toBeGreaterThan(LEASE_MS - 10_000);
        expect(work.leaseUntil - clock()).toBeLessThanOrEqual(LEASE_MS);
      });

      it("finds nothing in an empty queue, nor in another", async () => {
        const { create, claim, service } = await setUp();
        expect(await claim()).toEqual([]);
        await create();
        expect(await service.claim(worker, "other", { claimId: "c", worker: "w", max: 100 }, NEVER)).toEqual([]);
      });

      it("of ten tasks by twenty workers at once gives out ten", async () => {
        const { create, claim } = await setUp();
        const ids = await Promise.all(Array.from({ length: 10 }, () => create()));
        const works = await Promise.all(Array.from({ length: 20 }, () => claim()));
        expect(
          works
            .flat()
            .map(({ taskId }) => taskId)
            .toSorted(),
        ).toEqual(ids.toSorted());
        expect(works.filter(({ length }) => length === 1)).toHaveLength(10);
        expect(new Set(works.flat().map(({ lease }) => lease)).size).toBe(10);
      });

      it("takes turns over owners", async () => {
        const { create, claim } = await setUp();
        for (const owner of ["a", "a", "a", "b", null, null]) await create({ owner });
        const owners: Owner[] = [];
        for (let n = 0; n < 6; n += 1) owners.push(...(await claim()).map(({ owner }) => owner));
        expect(owners.slice(0, 3).toSorted()).toEqual(["a", "b", null].toSorted());
        expect(owners.slice(3, 5).toSorted()).toEqual(["a", null].toSorted());
        expect(owners[5]).toBe("a");
      });

      it("whose answer was lost is given again: the same tasks under the same leases, and no others", async () => {
        const { create, claim, pass, advance } = await setUp();
        for (let n = 0; n < 3; n += 1) await create();
        const wish = { claimId: "mine", max: 2 };
        const first = await claim(wish);
        expect(first).toHaveLength(2);
        const again = await claim({ ...wish, max: 3 });
        const names = (works: readonly Work[]) => works.map(({ taskId, lease }) => ({ taskId, lease }));
        expect(names(again)).toEqual(names(first));
        const others = await claim({ ...wish, max: 3 }, { as: someone("another worker") });
        expect(others).toHaveLength(1);
        advance(LEASE_MS - 5_000);
        expect(names(await claim(wish))).toEqual(names(first));
        // The one before renewed the leases.
        advance(LEASE_MS - 5_000);
        expect(names(await claim(wish))).toEqual(names(first));
        await pass(LATER_MS);
        expect(names(await claim(wish))).not.toEqual(names(first));
      });

      it("waits for the first task that comes", async () => {
        const { add, claim } = await setUp();
        const waiting = claim({ waitMs: 30_000 });
        const id = await add();
        expect((await waiting).map(({ taskId }) => taskId)).toEqual([id]);
      });

      it("of many that wait gets what is there, and the others wait on", async () => {
        const { add, claim } = await setUp();
        const leaving = new AbortController();
        const works: Work[] = [];
        const waiting = Array.from({ length: 5 }, async () => {
          works.push(...(await claim({ waitMs: 30_000 }, { signal: leaving.signal })));
        });
        const ids = [await add(), await add(), await add()];
        await expect.poll(() => works.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
        leaving.abort();
        await Promise.all(waiting);
        expect(works).toHaveLength(3);
      });

      it("waits for tasks of its tools although others lie there", async () => {
        const { add, create, claim } = await setUp();
        await create({ tool: "other" });
        const waiting = claim({ waitMs: 30_000, tools: ["mine"] });
        const id = await add({ tool: "mine" });
        expect((await waiting).map(({ taskId }) => taskId)).toEqual([id]);
      });

      it("waits no longer than it said", async () => {
        const { claim } = await setUp();
        expect(await claim({ waitMs: 20 })).toEqual([]);
      });

      it("that is given up takes nothing any more", async () => {
        const { create, claim } = await setUp();
        const leaving = new AbortController();
        const waiting = claim({ waitMs: 30_000 }, { signal: leaving.signal });
        leaving.abort();
        expect(await waiting).toEqual([]);
        const id = await create();
        expect(await claim({ waitMs: 30_000 }, { signal: AbortSignal.abort() })).toEqual([]);
        expect((await claim()).map(({ taskId }) => taskId)).toEqual([id]);
      });

      it("goes past what the queue believes and the tasks do not", async () => {
        const { create, claim, store, queues, clock } = await setUp();
        const [cancelled, running, waiting] = [await create(), await create(), await create()];
        await store.tell({ id: cancelled as string, owner: "o" }, { kind: "cancel" });
        await store.work(running as string, { kind: "claim", lease: { id: "l", until: clock() + HOUR, worker: "w" } });
        for (const id of [cancelled, running, store.mint(), "nonsense"])
          await queues("q").offer({ id: id as string, owner: "o", tool: "tool" }, clock());
        expect((await claim({ max: 9 })).map(({ taskId }) => taskId)).toEqual([waiting]);
        expect(await claim({ max: 9 })).toEqual([]);
      });
    });

    describe("a worker", () => {
      it("that dies loses its task to another, after a pause, until the attempts are used up (W01)", async () => {
        const { create, claimed, claim, read, pass, offered } = await setUp({ maxAttempts: 2 });
        const id = await create();
        expect(await claimed()).toMatchObject({ taskId: id, attempt: 1 });
        await pass(LATER_MS);
        await expect.poll(async () => (await read(id)).attempts, { timeout: 10_000 }).toBe(1);
        expect((await read(id)).statusMessage).toBe('Attempt 1 of 2: The worker "w" stopped reporting.');
        expect(await claim()).toEqual([]);
        await pass(LATER_MS);
        await offered(id);
        expect(await claimed()).toMatchObject({ taskId: id, attempt: 2 });
        await pass(LATER_MS);
        await expect.poll(async () => (await read(id)).stage.phase, { timeout: 10_000 }).toBe("settled");
        expect(await read(id)).toMatchObject({
          statusMessage: 'Attempt 2 of 2: The worker "w" stopped reporting.',
          stage: { outcome: { kind: "error" } },
        });
        expect(await claim()).toEqual([]);
      });

      it("that comes late is told where the task stands, and not who has it", async () => {
        const { create, claimed, service, pass, offered, read } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        await pass(LATER_MS);
        await expect.poll(async () => (await read(id)).attempts, { timeout: 10_000 }).toBe(1);
        await pass(LATER_MS);
        await offered(id);
        const other = await claimed();
        const late = await service.complete(id, { lease, result: result("late") });
        expect(late).toEqual({
          kind: "lost",
          state: {
            phase: "working",
            outcome: null,
            isError: false,
            statusMessage: 'Attempt 1 of 3: The worker "w" stopped reporting.',
          },
        });
        expect(await service.complete(id, { lease: other.lease, result: result("done") })).toMatchObject({
          kind: "settled",
          state: { phase: "settled", outcome: "result", isError: false },
        });
        expect((await read(id)).stage).toMatchObject({ outcome: { result: result("done") } });
      });

      it("keeps its task by heartbeats, for as long as it says or claimed it for", async () => {
        const { create, claimed, service, advance, clock, read } = await setUp();
        const id = await create();
        const { lease, leaseUntil: first } = await claimed({ leaseMs: 10 * MINUTE });
        expect(first - clock()).toBeGreaterThan(9 * MINUTE);
        const untilOf = (told: WorkAnswer) => leaseUntil(told) - clock();
        for (let n = 0; n < 3; n += 1) {
          advance(9 * MINUTE);
          expect(untilOf(await service.heartbeat(id, { lease }))).toBeGreaterThan(9 * MINUTE);
        }
        expect(untilOf(await service.heartbeat(id, { lease, leaseMs: HOUR }))).toBeGreaterThan(59 * MINUTE);
        expect(untilOf(await service.heartbeat(id, { lease, leaseMs: 1_000 }))).toBeGreaterThan(59 * MINUTE);
        expect(await read(id)).toMatchObject({ attempts: 0, lease: { id: lease } });
      });

      it("keeps it by a report of progress only if it says for how long", async () => {
        const { create, claimed, service, read, clock } = await setUp();
        const id = await create();
        const { lease, leaseUntil: first } = await claimed();
        const progress = { message: "half", progress: 1, total: 2 };
        expect(await service.progress(id, { lease, progress })).toMatchObject({ work: { leaseUntil: first } });
        expect(await read(id)).toMatchObject({ progress });
        const longer = await service.progress(id, { lease, progress, leaseMs: HOUR });
        expect(leaseUntil(longer)).toBeGreaterThan(clock() + 59 * MINUTE);
      });

      it("hears of a cancel with its next heartbeat, and what waits is never handed out after it (W02)", async () => {
        const { create, claimed, claim, service, store } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        await store.tell({ id, owner: "o" }, { kind: "cancel" });
        expect(await service.heartbeat(id, { lease })).toEqual({
          kind: "cancelled",
          state: { phase: "settled", outcome: "cancelled", isError: false, statusMessage: "The task was cancelled." },
        });
        const queued = await create();
        await store.tell({ id: queued, owner: "o" }, { kind: "cancel" });
        expect(await claim({ max: 9 })).toEqual([]);
      });

      it("that completes twice is answered twice, and changes nothing with anything else (W04)", async () => {
        const { create, claimed, service, read } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        const said = [];
        for (const text of ["r1", "r1", "r2"])
          said.push((await service.complete(id, { lease, result: result(text) })).kind);
        said.push((await service.fail(id, { lease, error: { message: "No." } })).kind);
        expect(said).toEqual(["settled", "settled", "lost", "lost"]);
        expect((await read(id)).stage).toMatchObject({ outcome: { result: result("r1") } });
      });

      it("fails with a reason that clients can read (W05)", async () => {
        const { create, claimed, service, read } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        const error = { message: "The disk is full.", data: '{"free":0}' };
        expect(await service.fail(id, { lease, error })).toMatchObject({ kind: "settled" });
        expect(await read(id)).toMatchObject({
          statusMessage: "The disk is full.",
          stage: { outcome: { kind: "error", error: { code: -32603, ...error } } },
        });
      });

      it("gives its task back, and another has it at once, without a lost attempt", async () => {
        const { create, claimed, claim, service } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        const waiting = claim({ waitMs: 30_000 });
        expect(await service.release(id, { lease })).toMatchObject({ kind: "returned" });
        expect(await waiting).toMatchObject([{ taskId: id, attempt: 1 }]);
      });

      it("that fails and wants another attempt gives it to whoever comes after the pause", async () => {
        const { create, claimed, claim, service, pass, offered } = await setUp();
        const id = await create();
        const { lease } = await claimed();
        const failed = await service.fail(id, { lease, error: { message: "Busy." }, retry: true });
        expect(failed).toMatchObject({ kind: "returned", state: { statusMessage: "Attempt 1 of 3: Busy." } });
        expect(await claim()).toEqual([]);
        await pass(LATER_MS);
        await offered(id);
        expect(await claimed()).toMatchObject({ taskId: id, attempt: 2 });
      });

      it("is told that its task has expired by finding it gone, and the queue forgets it (A03)", async () => {
        const { create, claimed, claim, service, pass } = await setUp();
        const id = await create({ ttlMs: HOUR });
        await create({ ttlMs: HOUR, tool: "waits" });
        const { lease } = await claimed({ leaseMs: HOUR });
        await pass(HOUR);
        await expect(service.heartbeat(id, { lease })).rejects.toMatchObject({ code: "not_found" });
        expect(await claim({ max: 9 })).toEqual([]);
      });
    });

    describe("a question of a worker", () => {
      const asking = async (over: Partial<Limits> = {}) => {
        const stage = await setUp(over);
        const id = await stage.create();
        const work = await stage.claimed();
        const ask = (timeoutMs?: number) =>
          stage.service.ask(id, {
            lease: work.lease,
            questions: { name: form },
            ...(timeoutMs === undefined ? {} : { timeoutMs }),
          });
        const answer = () => stage.store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("Ada") } });
        return { ...stage, ...work, id, ask, answer };
      };

      it("is answered in a heartbeat", async () => {
        const { id, lease, ask, answer, service } = await asking();
        expect(await ask()).toMatchObject({
          kind: "held",
          work: { answers: {}, openQuestions: [{ key: "name", request: form }] },
        });
        await answer();
        const told = { kind: "held", work: { answers: { name: accept("Ada") }, openQuestions: [] } };
        expect(await service.heartbeat(id, { lease })).toMatchObject(told);
        expect(await ask()).toMatchObject(told);
      });

      it("outlives its worker: whoever claims next has the answer", async () => {
        const { id, lease, ask, answer, service, claim, claimed, offered } = await asking();
        await ask();
        await service.release(id, { lease });
        expect(await claim()).toEqual([]);
        await answer();
        await offered(id);
        expect(await claimed()).toMatchObject({ taskId: id, attempt: 1, answers: { name: accept("Ada") } });
      });

      it("parks the task when the lease lapses, without a lost attempt", async () => {
        const { id, ask, answer, read, pass, claimed, offered } = await asking();
        await ask();
        await pass(LATER_MS);
        await expect.poll(async () => (await read(id)).lease, { timeout: 10_000 }).toBeNull();
        expect(await read(id)).toMatchObject({ attempts: 0, stage: { phase: "input_required" } });
        await answer();
        await offered(id);
        expect(await claimed()).toMatchObject({ taskId: id, attempt: 1, answers: { name: accept("Ada") } });
      });

      it("that nobody answers in time is answered with cancel", async () => {
        const { id, lease, ask, service, pass } = await asking();
        await service.heartbeat(id, { lease, leaseMs: HOUR });
        await ask(MINUTE);
        await pass(LATER_MS);
        await expect
          .poll(async () => service.heartbeat(id, { lease, leaseMs: HOUR }), { timeout: 10_000 })
          .toMatchObject({ kind: "held", work: { answers: { name: '{"action":"cancel"}' }, openQuestions: [] } });
      });
    });

    it("knows no task but those that are there, whoever asks", async () => {
      const { store, service } = await setUp();
      for (const id of [store.mint(), "nonsense"]) {
        const told = { lease: "l" };
        const acts = [
          service.heartbeat(id, told),
          service.release(id, told),
          service.complete(id, { ...told, result: result("r") }),
        ];
        for (const act of acts) await expect(act).rejects.toMatchObject({ code: "not_found" });
      }
    });
  });
}

function leaseUntil(told: WorkAnswer): number {
  if (told.kind !== "held") throw new Error(`Not held: ${told.kind}`);
  return told.work.leaseUntil;
}
