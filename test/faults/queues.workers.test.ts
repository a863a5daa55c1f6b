// The same for a task that workers carry out: its queue, its index, its alarm and its object fail in turn.
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { durableQueues } from "../../durable-objects/durable-queues";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { OwnerIndex } from "../../durable-objects/owner-index";
import type { TaskSnapshot, TaskStore } from "../../src/service/task-store";
import { WorkService } from "../../src/service/work-service";
import { emptyDeployment, indexNamed, objects, taskOf } from "../stores/objects";
import { limits, someone, textOf } from "../support/memory";
import {
  answerOf,
  crash,
  created,
  evict,
  expectRetryable,
  expectSound,
  holdArrival,
  INDEX,
  interposed,
  loseAlarm,
  MINUTE,
  refTo,
  rest,
  rowOf,
  until,
} from "./faults";

afterEach(() => void vi.restoreAllMocks());

const worker = someone("worker");
const runs = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
const result = '{"content":[{"type":"text","text":"carried out"}]}';
const everyone = (id: string) => [taskOf(id), objects.QUEUES.getByName("q"), indexNamed(INDEX)];

async function claimed() {
  const deployment = await emptyDeployment();
  const { store, now } = deployment;
  const serviceOver = (bound: typeof objects) =>
    new WorkService({
      store: durableTaskStore({ objects: bound, limits, clock: now }),
      queues: durableQueues(bound),
      limits,
      clock: now,
    });
  const service = serviceOver(objects);
  const id = await created(deployment, "remote", { runs });
  const claim = async (claimId: string, waitMs = 20_000) =>
    (await service.claim(worker, "q", { claimId, worker: "w", waitMs }, new AbortController().signal))[0];
  const work = await claim("c");
  expect(work?.taskId).toBe(id);
  return { deployment, store, service, serviceOver, id, claim, lease: work?.lease as string };
}

const textNow = async (store: TaskStore, id: string): Promise<string> =>
  textOf((await store.read(refTo(id))) as TaskSnapshot);

describe("a task that a worker carries out", () => {
  it("settles although its index refuses, which hears of it once it is back", async () => {
    const { deployment, store, service, id, lease } = await claimed();
    await expect.poll(async () => (await rowOf(store, id))?.phase).toBe("working");
    const mirror = vi.spyOn(OwnerIndex.prototype, "mirror").mockRejectedValue(new Error("Not now."));
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
    expect((await rowOf(store, id))?.phase).toBe("working");
    await evict(taskOf(id));
    mirror.mockRestore();
    await runDurableObjectAlarm(taskOf(id));
    expect(await rowOf(store, id)).toMatchObject({ phase: "settled", outcome: "result" });
    await rest(deployment, [id]);
    await expectSound(store, [id]);
  });

  it.each([
    ["evicted", evict],
    ["killed", crash],
  ])("stays its worker's when the objects are %s before any call between claim and complete", async (_, away) => {
    let calls = 0;
    for (let nth = 1; nth <= Math.max(1, calls); nth += 1) {
      const { deployment, store, serviceOver, id, lease } = await claimed();
      calls = 0;
      const service = serviceOver(
        interposed(objects, async () => {
          calls += 1;
          if (calls === nth) for (const stub of everyone(id)) await away(stub);
        }),
      );
      expect(await service.heartbeat(id, { lease })).toMatchObject({ kind: "held" });
      expect(await service.progress(id, { lease, progress: { progress: 1 } })).toMatchObject({ kind: "held" });
      expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      expect(await textNow(store, id)).toBe("carried out");
    }
    expect(calls).toBe(3);
  });

  it("is completed once though its objects die when any call arrives on the way", async () => {
    const places: string[] = [];
    for (let nth = 1; nth < 20; nth += 1) {
      const { deployment, store, service, id, lease } = await claimed();
      await expect.poll(async () => (await rowOf(store, id))?.phase).toBe("working");
      const { held, open } = holdArrival(nth);
      let isOver = false;
      const answering = answerOf(service.complete(id, { lease, result })).finally(() => (isOver = true));
      await vi.waitUntil(() => isOver || held() !== null, { timeout: 20_000, interval: 2 });
      const place = held();
      if (place !== null) for (const stub of everyone(id)) await crash(stub);
      open();
      const answered = await answering;
      vi.restoreAllMocks();
      expectRetryable(answered);
      if ("value" in answered) expect(answered.value).toMatchObject({ kind: "settled" });
      else expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      expect(await textNow(store, id)).toBe("carried out");
      if (place === null) break;
      places.push(place);
    }
    expect(places).toContain("work");
    expect(places).toContain("mirror");
  });

  it("goes to another worker when its lease lapsed, its alarm was lost and nobody looked", async () => {
    const { deployment, store, service, id, claim, lease } = await claimed();
    await expect.poll(async () => (await rowOf(store, id))?.phase).toBe("working");
    await loseAlarm(id);
    await evict(taskOf(id));
    expect(await store.sweep(1_000)).toMatchObject({ poked: 0 });
    deployment.advance(3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    await until(store, id, "backing_off");
    await loseAlarm(id);
    await evict(taskOf(id));
    deployment.advance(3 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    const again = await claim("d");
    expect(again).toMatchObject({ taskId: id, attempt: 2 });
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "lost" });
    expect(await service.complete(id, { lease: again?.lease as string, result })).toMatchObject({ kind: "settled" });
    await rest(deployment, [id]);
    await expectSound(store, [id]);
  });

  it("keeps its worker's lease when the clock goes back an hour", async () => {
    const { deployment, store, service, id, lease } = await claimed();
    deployment.advance(-60 * MINUTE);
    await runDurableObjectAlarm(taskOf(id));
    expect(await service.heartbeat(id, { lease })).toMatchObject({ kind: "held" });
    expect(await store.read(refTo(id))).toMatchObject({ attempts: 0, lease: { id: lease } });
    expect(await service.complete(id, { lease, result })).toMatchObject({ kind: "settled" });
    expect(await textNow(store, id)).toBe("carried out");
  });
});
