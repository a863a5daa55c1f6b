// Objects that go away between any two awaits of what the store does, and in the middle of it.
import { afterEach, describe, expect, it, vi } from "vitest";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { indexOf } from "../../durable-objects/rpc";
import type { TaskSnapshot, TaskStore } from "../../src/service/task-store";
import { defineTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { door } from "../runners/stage";
import { emptyDeployment, NOTHING, objects, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { accept, registry } from "../stores/tools";
import { limits, textOf } from "../support/memory";
import {
  answerOf,
  crash,
  created,
  draftFor,
  evict,
  expectRetryable,
  expectSound,
  HOUR,
  isElsewhere,
  holdArrival,
  interposed,
  loseAlarm,
  MINUTE,
  refTo,
  rest,
  until,
  victimsOf,
  type Deployment,
  type Victim,
} from "./faults";

afterEach(() => void vi.restoreAllMocks());

/** Something the store does: to which task, and what must have come of it, whatever went wrong on the way. */
type Act = {
  readonly id: string;
  readonly does: (store: TaskStore) => Promise<unknown>;
  /** `again` is what a caller that was told to try again does. */
  readonly comesTo: (answer: unknown, again: () => Promise<unknown>) => Promise<void>;
};

type Operation = (deployment: Deployment) => Promise<Act>;

const resultOf = async ({ store }: Deployment, id: string): Promise<string> =>
  textOf((await store.read(refTo(id))) as TaskSnapshot);

const create: Operation = async (deployment) => {
  const { store } = deployment;
  const draft = draftFor(deployment, "echo", { arguments: '{"text":"hello"}' });
  const { id } = draft;
  return {
    id,
    does: (through) => through.create(draft, { key: "k", digest: "d" }),
    comesTo: async (answer, again) => {
      if (answer) expect(answer).toMatchObject({ task: { id } });
      if (answer) expect(await store.read(refTo(id))).not.toBeNull();
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      const { task } = (await again()) as { task: TaskSnapshot };
      if (answer) expect(task.id).toBe(id);
      await rest(deployment, [task.id]);
      await expectSound(store, [task.id]);
      expect(await resultOf(deployment, task.id)).toBe("hello");
    },
  };
};

const answer: Operation = async (deployment) => {
  const { store } = deployment;
  const id = await created(deployment, "ask");
  await until(store, id, "input_required");
  return {
    id,
    does: (through) => through.tell(refTo(id), { kind: "answer", answers: { name: accept("Ada") } }),
    comesTo: async (told, again) => {
      if (told) expect(told).toMatchObject({ changed: true, task: { openQuestions: [] } });
      else await again();
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      expect(await resultOf(deployment, id)).toBe(accept("Ada"));
    },
  };
};

const cancel: Operation = async (deployment) => {
  const { store } = deployment;
  const id = await created(deployment, "hang");
  await until(store, id, "running");
  return {
    id,
    does: (through) => through.tell(refTo(id), { kind: "cancel" }),
    comesTo: async (told, again) => {
      if (told) expect(told).toMatchObject({ changed: true, task: { stage: { outcome: { kind: "cancelled" } } } });
      else await again();
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      expect((await store.read(refTo(id)))?.stage).toMatchObject({ outcome: { kind: "cancelled" } });
    },
  };
};

const settle: Operation = async (deployment) => {
  const { pass, open } = door();
  const run = async () => {
    await pass();
    return "through";
  };
  const held = defineTool({ name: "held", description: "Waits.", input: { type: "object" }, task: "optional", run });
  setStage({ registry: createRegistry([held]), limits, clock: deployment.now });
  const id = await created(deployment, "held");
  await until(deployment.store, id, "running");
  return {
    id,
    does: async (through) => {
      open();
      return until(through, id, "settled");
    },
    comesTo: async (_, again) => {
      await again();
      await rest(deployment, [id]);
      await expectSound(deployment.store, [id]);
      expect(await resultOf(deployment, id)).toBe("through");
    },
  };
};

/** Finds a task that has expired, a reservation nobody kept, and a task whose alarm was lost. */
const sweep: Operation = async (deployment) => {
  const { store, now, advance } = deployment;
  const expired = await created(deployment, "hang", { ttlMs: MINUTE });
  await until(store, expired, "running");
  const lost = draftFor(deployment, "echo");
  const caps = { maxStored: 9, maxLive: 9, maxPerMinute: 9 };
  await indexOf(objects, lost).reserve({ ...lost, deadline: now() + 30_000, idempotency: null, ...caps }, now());
  const id = await created(deployment, "nap", { arguments: JSON.stringify({ until: now() + HOUR }) });
  await until(store, id, "sleeping");
  await loseAlarm(id);
  await evict(taskOf(id));
  advance(HOUR + 2 * MINUTE);
  return {
    id,
    does: (through) => through.sweep(1_000),
    comesTo: async () => {
      advance(6 * MINUTE);
      await store.sweep(1_000);
      await until(store, id, "settled");
      advance(6 * MINUTE);
      await rest(deployment, [id]);
      await expectSound(store, [id]);
      expect(await resultOf(deployment, id)).toBe("rested");
      for (const gone of [expired, lost.id]) expect(await storedIn(taskOf(gone))).toEqual(NOTHING);
    },
  };
};

const operations = { create, answer, cancel, settle, sweep };
const victims: readonly (readonly Victim[])[] = [["task"], ["directory"], ["index"], ["task", "index", "directory"]];
const cases = Object.keys(operations).flatMap((name) =>
  // A sweep makes many calls.
  (name === "sweep" ? victims.slice(-2) : victims).map(
    (gone) => [name as keyof typeof operations, gone.join(", "), gone] as const,
  ),
);

/** More calls than any of these makes. */
const MOST = 40;

async function deployed(): Promise<Deployment> {
  const deployment = await emptyDeployment();
  setStage({ registry, limits, clock: deployment.now });
  return deployment;
}

/** A repeated call whose first try was told to come again; it may have to come more than once. */
const patiently = (does: () => Promise<unknown>) => () => vi.waitFor(does, { timeout: 10_000 });

describe("an eviction before any call that the store makes", () => {
  it.each(cases)("of %s: %s", async (name, _, gone) => {
    let calls = 0;
    for (let nth = 1; nth <= Math.max(1, calls) && nth < MOST; nth += 1) {
      const deployment = await deployed();
      const { id, does, comesTo } = await operations[name](deployment);
      calls = 0;
      const through = interposed(objects, async (_method, object) => {
        if (isElsewhere(object)) return;
        calls += 1;
        // An object in which a run goes on is not evicted: it can only die.
        const away = name === "cancel" || name === "settle" ? crash : evict;
        if (calls === nth) for (const stub of victimsOf(gone, id)) await away(stub);
      });
      const { now: clock } = deployment;
      const answered = await answerOf(does(durableTaskStore({ objects: through, limits, clock })));
      // Polling makes more calls than there are places.
      if (name === "settle") calls = Math.min(calls, 3);
      expectRetryable(answered);
      await comesTo(
        "value" in answered ? answered.value : null,
        patiently(() => does(deployment.store)),
      );
    }
    expect(calls).toBeGreaterThan(0);
  });
});

describe("a crash when any call arrives, whoever makes it,", () => {
  it.each(cases)("during %s: %s", async (name, _, gone) => {
    const places: string[] = [];
    for (let nth = 1; nth < MOST; nth += 1) {
      const deployment = await deployed();
      const { id, does, comesTo } = await operations[name](deployment);
      const { held, open } = holdArrival(nth);
      let isOver = false;
      const answering = answerOf(does(deployment.store)).finally(() => (isOver = true));
      await vi.waitUntil(() => isOver || held() !== null, { timeout: 20_000, interval: 2 });
      const place = held();
      if (place !== null) for (const stub of victimsOf(gone, id)) await crash(stub);
      open();
      const answered = await answering;
      vi.restoreAllMocks();
      expectRetryable(answered);
      await comesTo(
        "value" in answered ? answered.value : null,
        patiently(() => does(deployment.store)),
      );
      if (place === null) break;
      places.push(place);
    }
    expect(places.length).toBeGreaterThan(0);
    expect(places.length).toBeLessThan(MOST - 1);
  });
});
