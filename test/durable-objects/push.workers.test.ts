// News of a task in its object: they outlive evictions and crashes, and leave nothing behind.
import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import type { TaskDraft } from "../../src/task/task";
import { crash, created, evict, expectSound, HOUR, loseAlarm, MINUTE, refTo, until } from "../faults/faults";
import { emptyDeployment, NOTHING, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { limits } from "../support/memory";
import { letterOf, SILENT, targetOf } from "../support/pushing";

/** What was sent, as `host: body`. Plain values only: each object waits by itself, since no promise crosses to another. */
const posts: string[] = [];
/** Where whoever delivers stops for as long as the test wants. */
let held: "before the letters" | "before the request" | "before the answer" | null = null;
let holding = 0;
let status = 204;

async function pass(place: typeof held): Promise<void> {
  if (held !== place) return;
  holding += 1;
  while (held === place) await new Promise((resolve) => setTimeout(resolve, 2));
}

beforeEach(() => {
  posts.length = 0;
  [held, holding, status] = [null, 0, 204];
});

async function deployed(run: (task: TaskContext) => Promise<string> = async () => "done") {
  const deployment = await emptyDeployment();
  const facts = { name: "tool", description: "Does what the test says.", task: "optional", asks: ["form"] } as const;
  const tool = defineTool({ ...facts, input: { type: "object" }, run: (_, task) => run(task) });
  setStage({
    registry: createRegistry([tool]),
    limits,
    clock: deployment.now,
    letters: async (_, entries) => {
      await pass("before the letters");
      return entries.filter(({ event }) => !SILENT.includes(event)).map((entry) => letterOf(entry));
    },
    post: async (url, init) => {
      await pass("before the request");
      posts.push(`${new URL(url).hostname.charAt(0)}: ${init?.body as string}`);
      const answer = status;
      await pass("before the answer");
      return new Response(null, { status: answer });
    },
  });
  const start = (facts: Partial<TaskDraft> = {}) =>
    created(deployment, "tool", { push: [targetOf("a")], ttlMs: HOUR, ...facts });
  return { ...deployment, start };
}

type Deployed = Awaited<ReturnType<typeof deployed>>;

const targetsOf = async ({ store }: Deployed, id: string) =>
  (await store.read(refTo(id), { conversation: true }))?.conversation?.push;

const delivered = (deployment: Deployed, id: string) =>
  expect
    .poll(async () => {
      const task = await deployment.store.read(refTo(id));
      return (await targetsOf(deployment, id))?.every(({ cursor }) => cursor === task?.version);
    })
    .toBe(true);

const alarmOf = async (id: string) => (await storedIn(taskOf(id))).alarm;
const noAlarm = (id: string) => expect.poll(() => alarmOf(id)).toBeNull();

/** The same with what was sent again taken once. */
const distinct = (): readonly string[] => posts.filter((post, at) => post !== posts[at - 1]);

describe("a task in its object", () => {
  it("tells its targets from its creation to its end; then it needs no alarm, and once collected leaves nothing", async () => {
    const deployment = await deployed();
    const { store, advance, start } = deployment;
    const id = await start({ push: [targetOf("a"), targetOf("b")] });
    await until(store, id, "settled");
    await delivered(deployment, id);
    expect(posts.toSorted()).toEqual(["a: 1 created", "a: 3 settled", "b: 1 created", "b: 3 settled"]);
    await noAlarm(id);
    await expectSound(store, [id]);
    advance(HOUR + MINUTE);
    expect(await store.sweep(100)).toMatchObject({ removed: 1 });
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
  });

  it("settles and answers while nobody can be told", async () => {
    const deployment = await deployed();
    held = "before the answer";
    const id = await deployment.start();
    await until(deployment.store, id, "settled");
    await expect.poll(() => holding).toBe(1);
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(true);
    expect(posts).toEqual(["a: 1 created"]);
    held = null;
    await delivered(deployment, id);
    await noAlarm(id);
  });

  it.each(["before the letters", "before the request", "before the answer"] as const)(
    "that dies %s goes on from its alarm, and tells everything",
    async (place) => {
      const deployment = await deployed();
      const { store, start } = deployment;
      held = place;
      const id = await start();
      await until(store, id, "settled");
      await expect.poll(() => holding).toBe(1);
      await crash(taskOf(id));
      held = null;
      expect(await runDurableObjectAlarm(taskOf(id))).toBe(true);
      await delivered(deployment, id);
      // At least once: what had been sent before the crash is sent again.
      expect(distinct()).toEqual(["a: 1 created", "a: 3 settled"]);
      expect(posts).toHaveLength(place === "before the answer" ? 3 : 2);
      await noAlarm(id);
      await expectSound(store, [id]);
    },
  );

  it("that dies with its last news on the way tells them again", async () => {
    const deployment = await deployed((task) => task.ask({ k: form }).then(() => "done"));
    const { store, start } = deployment;
    const id = await start();
    await until(store, id, "input_required");
    await delivered(deployment, id);
    held = "before the answer";
    await store.tell(refTo(id), { kind: "cancel" });
    await expect.poll(() => holding).toBe(1);
    await crash(taskOf(id));
    held = null;
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(true);
    await delivered(deployment, id);
    expect(posts.slice(2)).toEqual(["a: 4 cancelled", "a: 4 cancelled"]);
    await noAlarm(id);
  });

  it("leaves a receiver alone over evictions until its alarm, and tells it then what it missed", async () => {
    const deployment = await deployed();
    const { store, start, now, advance } = deployment;
    status = 503;
    const id = await start();
    await until(store, id, "settled");
    await expect.poll(async () => (await targetsOf(deployment, id))?.[0]?.failures).toBe(1);
    const [target] = (await targetsOf(deployment, id)) ?? [];
    await evict(taskOf(id));
    expect(await alarmOf(id)).not.toBeNull();
    // Somebody looks, an alarm comes too early: nothing is sent before its time.
    await store.read(refTo(id));
    await runDurableObjectAlarm(taskOf(id));
    expect(posts).toEqual(["a: 1 created"]);
    status = 204;
    advance((target?.retryAt ?? 0) - now());
    await evict(taskOf(id));
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(true);
    await delivered(deployment, id);
    expect(posts).toEqual(["a: 1 created", "a: 1 created", "a: 3 settled"]);
    await noAlarm(id);
  });

  it("whose alarm was lost is set going by the sweep, although it has settled", async () => {
    const deployment = await deployed();
    const { store, start, advance } = deployment;
    status = 503;
    const id = await start();
    await until(store, id, "settled");
    await expect.poll(async () => (await targetsOf(deployment, id))?.[0]?.failures).toBe(1);
    await loseAlarm(id);
    await evict(taskOf(id));
    status = 204;
    advance(3 * MINUTE);
    expect(await store.sweep(100)).toMatchObject({ poked: 1 });
    await delivered(deployment, id);
    expect(posts).toEqual(["a: 1 created", "a: 1 created", "a: 3 settled"]);
    await noAlarm(id);
  });

  it("tells of its end when it expires unseen, and goes with the next sweep", async () => {
    const deployment = await deployed(
      (task) => new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(new Error("Stopped.")))),
    );
    const { store, start, advance } = deployment;
    const id = await start();
    await until(store, id, "running");
    await delivered(deployment, id);
    await loseAlarm(id);
    await crash(taskOf(id));
    advance(2 * HOUR);
    expect(await store.sweep(100)).toMatchObject({ removed: 0 });
    expect(await store.read(refTo(id))).toBeNull();
    await expect.poll(() => posts).toEqual(["a: 1 created", "a: 3 expired"]);
    await noAlarm(id);
    advance(3 * MINUTE);
    expect(await store.sweep(100)).toMatchObject({ removed: 1 });
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    await expectSound(store, []);
  });

  it("that is collected in the middle of a delivery leaves nothing, whatever comes of it", async () => {
    const deployment = await deployed();
    const { store, start, advance } = deployment;
    held = "before the answer";
    const id = await start();
    await until(store, id, "settled");
    await expect.poll(() => holding).toBe(1);
    advance(HOUR + 10 * MINUTE);
    expect(await store.sweep(100)).toMatchObject({ removed: 1 });
    held = null;
    await vi.waitUntil(async () => JSON.stringify(await storedIn(taskOf(id))) === JSON.stringify(NOTHING));
    expect(await runDurableObjectAlarm(taskOf(id))).toBe(false);
    expect(posts).toEqual(["a: 1 created"]);
  });
});

const form = { kind: "form", message: "K?", schema: { type: "object" } } as const;
