// What holds of one task at rest must hold while many others run, report, sleep and end.
import { listDurableObjectIds, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { durableQueues } from "../../durable-objects/durable-queues";
import { WorkService } from "../../src/service/work-service";
import type { TaskDraft } from "../../src/task/task";
import { defineTool, type ToolDefinition } from "../../src/tool/define-tool";
import type { JsonObject } from "../../src/task/json";
import { createRegistry } from "../../src/tool/registry";
import { directoryOf, emptyDeployment, indexNamed, NOTHING, objects, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { accept } from "../stores/tools";
import { limits, someone, textOf } from "../support/memory";
import { crash, created, evict, expectSound, HOUR, INDEX, MINUTE, refTo, until } from "./faults";

/** Runs that go on at the same time as what a test looks at. */
const MANY = 20;

/** The machine is busy, as it should be here. */
const SLOW = { timeout: 120_000 };

const SHORT = 30 * MINUTE;
const remote = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
const worker = someone("worker");

const question = { k: { kind: "form", message: "K?", schema: { type: "object" } } } as const;

let isOver = false;
afterEach(() => void (isOver = true));

type Run = ToolDefinition<JsonObject, undefined>["run"];
const tool = (name: string, run: Run) =>
  defineTool({ name, description: name, input: { type: "object" }, task: "optional", asks: ["form"], run });

const registry = createRegistry([
  // Step after step, until the test is over.
  tool("busy", async (_, task) => {
    for (let n = 0; !isOver; n += 1) {
      task.progress({ progress: n });
      await task.step(`step ${n}`, () => new Promise<number>((resolve) => setTimeout(() => resolve(n), 100)));
    }
    return "through";
  }),
  tool("echo", () => "done"),
  tool("nap", async (args, task) => {
    await task.sleep(Number(args["until"]));
    return "rested";
  }),
  tool("ask", async (_, task) => JSON.stringify(await task.ask(question, { timeoutMs: 10 * MINUTE }))),
]);

/** A deployment in which many tasks run. */
async function loaded() {
  isOver = false;
  const deployment = await emptyDeployment();
  const { store, now } = deployment;
  setStage({ registry, limits, clock: now });
  const work = new WorkService({ store, queues: durableQueues(objects), limits, clock: now });
  const begin = (name: string, facts: Partial<TaskDraft> = {}) => created(deployment, name, facts);
  const busy = await Promise.all(Array.from({ length: MANY }, () => begin("busy")));
  await Promise.all(busy.map((id) => until(store, id, "running")));
  /** The load ends, every task of it once and well. */
  const finish = async (): Promise<void> => {
    for (const id of busy) expect((await store.read(refTo(id)))?.stage.phase).toBe("working");
    isOver = true;
    const done = await Promise.all(busy.map((id) => until(store, id, "settled")));
    expect(new Set(done.map(textOf))).toEqual(new Set(["through"]));
  };
  const claim = async () =>
    (await work.claim(worker, "q", { claimId: "c", worker: "w", waitMs: 20_000 }, new AbortController().signal))[0];
  return { ...deployment, begin, busy, finish, work, claim };
}

/** Every object there is dies at once, whatever it does. */
const crashAll = (ids: readonly string[]) =>
  Promise.all([...ids.map(taskOf), indexNamed(INDEX), directoryOf(INDEX), objects.QUEUES.getByName("q")].map(crash));

it("tasks stand as they stood when every object dies, and those that ran go on (P02)", SLOW, async () => {
  const { store, begin, busy, finish, work, claim } = await loaded();
  const claimed = await begin("remote", { runs: remote });
  const lease = (await claim())?.lease as string;
  const asking = await begin("ask");
  const done = await begin("echo");
  await until(store, asking, "input_required");
  await until(store, done, "settled");
  const before = await Promise.all([claimed, asking, done].map((id) => store.read(refTo(id))));
  await crashAll([...busy, claimed, asking, done]);
  expect(await Promise.all([claimed, asking, done].map((id) => store.read(refTo(id))))).toEqual(before);
  expect(await work.heartbeat(claimed, { lease })).toMatchObject({ kind: "held" });
  const result = '{"content":[{"type":"text","text":"carried out"}]}';
  expect(await work.complete(claimed, { lease, result })).toMatchObject({ kind: "settled" });
  await store.tell(refTo(asking), { kind: "answer", answers: { k: accept("Ada") } });
  expect(textOf(await until(store, asking, "settled"))).toContain("Ada");
  for (const id of busy) {
    await expect.poll(async () => (await store.read(refTo(id)))?.restarts, { timeout: 20_000 }).toBe(1);
    await until(store, id, "running");
  }
  await finish();
  await vi.waitFor(() => expectSound(store, [...busy, claimed, asking, done]), { timeout: 20_000 });
});

it("a collected task leaves nothing, no alarm either, and nothing brings it back (P04)", SLOW, async () => {
  const { store, begin, now, advance, finish } = await loaded();
  const facts = { ttlMs: 4 * HOUR, arguments: JSON.stringify({ until: now() + 3 * HOUR }) };
  const naps = await Promise.all(Array.from({ length: 20 }, () => begin("nap", facts)));
  await Promise.all(naps.map((id) => until(store, id, "sleeping")));
  for (const id of naps) expect((await storedIn(taskOf(id))).alarm).not.toBeNull();
  advance(5 * HOUR);
  expect(await store.sweep(10_000)).toMatchObject({ removed: naps.length, failures: 0 });
  for (const id of naps) {
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(false);
    await evict(taskOf(id));
    expect(await store.read(refTo(id))).toBeNull();
    expect(await store.tell(refTo(id), { kind: "cancel" })).toBeNull();
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
  }
  await finish();
});

it("guessed ids make no object (P05)", SLOW, async () => {
  const { store, busy, finish } = await loaded();
  const all = async () => (await listDurableObjectIds(objects.TASKS)).map(String).sort();
  const before = await all();
  const guesses = [...busy, ...Array.from({ length: 200 }, () => store.mint())].map(altered);
  const answers = guesses.flatMap((id) => [store.read(refTo(id)), store.tell(refTo(id), { kind: "cancel" })]);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([null]));
  expect(await all()).toEqual(before);
  await finish();
});

it("two sweeps at once take exactly what has expired, each task once, while others are made (P06)", SLOW, async () => {
  const { store, begin, now, advance, busy, finish, work, claim } = await loaded();
  const ttls = [SHORT, 20 * HOUR, null];
  const made = async (ttlMs: number | null) =>
    Promise.all([
      begin("echo", { ttlMs }),
      begin("ask", { ttlMs }),
      begin("nap", { ttlMs, arguments: JSON.stringify({ until: now() + 10 * MINUTE }) }),
    ]);
  const claimed = await begin("remote", { runs: remote, ttlMs: SHORT });
  const lease = (await claim())?.lease as string;
  const [expired = [], ...kept] = await Promise.all(ttls.map(made));
  const all = [...expired, ...kept.flat()];
  await vi.waitUntil(
    async () => {
      const tasks = await Promise.all(all.map((id) => store.read(refTo(id))));
      return tasks.every((task) => task && !/"(submitted|running|due)"/.test(JSON.stringify(task.stage)));
    },
    { timeout: 20_000 },
  );
  advance(HOUR);
  const [one, other, ...late] = await Promise.all([
    store.sweep(10_000),
    store.sweep(10_000),
    ...Array.from({ length: 10 }, () => begin("echo")),
  ]);
  expect(one.removed + other.removed).toBe(expired.length + 1);
  expect([one.failures, other.failures]).toEqual([0, 0]);
  for (const id of [...expired, claimed]) {
    expect(await store.read(refTo(id))).toBeNull();
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
  }
  const result = '{"content":[]}';
  await expect(work.complete(claimed, { lease, result })).rejects.toMatchObject({ code: "not_found" });
  expect(await storedIn(taskOf(claimed))).toEqual(NOTHING);
  for (const id of late) await until(store, id, "settled");
  await finish();
  const left = [...kept.flat(), ...late, ...busy];
  await vi.waitFor(() => expectSound(store, left), { timeout: 20_000 });
});

/** The same id but for one character in its middle. */
const altered = (id: string): string => {
  const at = Math.floor(id.length / 2);
  return `${id.slice(0, at)}${id[at] === "A" ? "B" : "A"}${id.slice(at + 1)}`;
};
