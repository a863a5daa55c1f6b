import { evictDurableObject, reset, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { durableQueues } from "../../durable-objects/durable-queues";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { WorkService, type Work } from "../../src/service/work-service";
import type { InputRequest } from "../../src/task/task";
import { limits, someone } from "../support/memory";
import { draft } from "../support/task";
import { emptyDeployment, objects, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { accept } from "../stores/tools";
import { describeWorkers } from "../stores/workers-contract";

const queues = durableQueues(objects);
const NEVER = new AbortController().signal;
const worker = someone("worker");
const MINUTE = 60_000;

describeWorkers("workers of a deployment of objects", async (parts) => {
  await reset();
  setStage(parts);
  return { store: durableTaskStore({ objects, limits: parts.limits, clock: parts.clock }), queues };
});

async function deployment() {
  const { store, now, advance } = await emptyDeployment();
  const service = new WorkService({ store, queues, limits, clock: now });
  const create = async () => {
    const runs = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
    const facts = { namespace: "n", owner: "o", createdAt: now(), ttlMs: 60 * MINUTE, runs };
    const made = await store.create(draft({ id: store.mint(), ...facts }));
    if (made.kind !== "created") throw new Error(made.kind);
    return made.task.id;
  };
  const read = (id: string) => store.read({ id, owner: "o" });
  const claim = (claimId: string, signal = NEVER) =>
    service.claim(worker, "q", { claimId, worker: "w", waitMs: 20_000 }, signal);
  return { store, now, advance, service, create, read, claim };
}

const queueObject = () => objects.QUEUES.getByName("q");

/** Out of memory, whether or not it was in it. */
const evict = (object: DurableObjectStub) => evictDurableObject(object).catch(() => {});

describe("an eviction between any two calls", () => {
  it("leaves a worker its lease, its question and its answer, and the client the result", async () => {
    const { store, service, create, read, claim } = await deployment();
    const id = await create();
    const gone = async () => {
      await evict(taskOf(id));
      await evict(queueObject());
    };
    const form: InputRequest = {
      method: "elicitation/create",
      params: { mode: "form", message: "Name?", requestedSchema: { type: "object" } },
    };
    const [work] = await claim("c");
    const lease = work?.lease as string;
    expect(work).toMatchObject({ taskId: id });
    await gone();
    expect(await claim("c")).toMatchObject([{ taskId: id, lease }]);
    await gone();
    expect(await service.heartbeat(id, { lease, leaseMs: MINUTE })).toMatchObject({ kind: "held" });
    await gone();
    expect((await read(id))?.lease).toMatchObject({ id: lease, ms: 30_000 });
    await service.ask(id, { lease, questions: { name: form } });
    await gone();
    await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("Ada") } });
    await gone();
    expect(await service.heartbeat(id, { lease })).toMatchObject({
      kind: "held",
      work: { lease, answers: { name: accept("Ada") } },
    });
    await gone();
    const result = '{"content":[{"type":"text","text":"Hello, Ada."}]}';
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
    await gone();
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
    expect(await service.heartbeat(id, { lease })).toMatchObject({ kind: "lost" });
    expect((await read(id))?.stage).toMatchObject({ outcome: { kind: "result", result } });
  });

  it("gives out ten tasks to twenty claims that wait, each once", async () => {
    const { create, claim, read } = await deployment();
    const leaving = new AbortController();
    const works: Work[] = [];
    const waiting = Array.from({ length: 20 }, async (_, n) => works.push(...(await claim(`c${n}`, leaving.signal))));
    const ids: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      ids.push(await create());
      if (n % 3 === 0) await evict(queueObject());
    }
    await expect.poll(() => works.length).toBe(10);
    leaving.abort();
    await Promise.all(waiting);
    expect(works.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
    for (const { taskId, lease } of works) expect((await read(taskId))?.lease?.id).toBe(lease);
  });
});

describe("a heartbeat", () => {
  it("goes to the task alone, and moves only its record and its alarm", async () => {
    const { service, create, claim } = await deployment();
    const id = await create();
    const [work] = await claim("c");
    const told = { lease: work?.lease as string };
    const before = await storedIn(taskOf(id));
    const queue = await storedIn(queueObject());
    await service.heartbeat(id, { ...told, leaseMs: 10 * MINUTE });
    const after = await storedIn(taskOf(id));
    expect(after.rows["log"]).toEqual(before.rows["log"]);
    expect(after.rows["value"]).toEqual(before.rows["value"]);
    expect(after.rows["record"]).not.toEqual(before.rows["record"]);
    expect(after.alarm as number).toBeGreaterThan((before.alarm as number) + MINUTE);
    expect(await storedIn(queueObject())).toEqual(queue);
  });
});

describe("an alarm that was lost", () => {
  it("is made up for by the sweep: the lease lapses, and the task is offered again", async () => {
    const { create, claim, store, read, advance } = await deployment();
    const id = await create();
    await claim("c");
    await runInDurableObject(taskOf(id), (_, { storage }) => storage.deleteAlarm());
    advance(3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    await expect.poll(async () => (await read(id))?.attempts).toBe(1);
    await runInDurableObject(taskOf(id), (_, { storage }) => storage.deleteAlarm());
    advance(3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    expect(await claim("d")).toMatchObject([{ taskId: id, attempt: 2 }]);
  });
});
