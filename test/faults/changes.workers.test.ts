// What changes under a task that waits: the code that is deployed, and the clock.
import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskObject } from "../stores/worker";
import { defineTool, type AnyTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { emptyDeployment, NOTHING, storedIn, taskOf } from "../stores/objects";
import { setStage } from "../stores/stage";
import { accept, registry } from "../stores/tools";
import { limits, textOf } from "../support/memory";
import { created, evict, expectSound, HOUR, loseAlarm, MINUTE, refTo, rest, rowOf, until } from "./faults";

afterEach(() => void vi.restoreAllMocks());

const DAY = 24 * HOUR;
const form = (message: string) => ({ kind: "form", message, schema: { type: "object" } }) as const;

const asking = (over: Pick<AnyTool, "version" | "compatible"> = {}) =>
  defineTool({
    name: "tool",
    description: "Asks twice at once.",
    input: { type: "object" },
    task: "optional",
    asks: ["form"],
    maxAttempts: 1,
    ...over,
    run: async (_, task) => JSON.stringify(await task.ask({ a: form("A?"), b: form("B?") })),
  });

describe("a deploy between question and answer", () => {
  const old = asking({ version: "1" });

  async function halfAnswered() {
    const deployment = await emptyDeployment();
    const deploy = (tools: readonly AnyTool[]) =>
      setStage({ registry: createRegistry(tools), limits, clock: deployment.now });
    deploy([old]);
    const id = await created(deployment, "tool", { toolVersion: "1" });
    await until(deployment.store, id, "input_required");
    const answer = (key: string) =>
      deployment.store.tell(refTo(id), { kind: "answer", answers: { [key]: accept(key) } });
    await answer("a");
    await evict(taskOf(id));
    return { deployment, id, deploy, answer };
  }

  it.each([
    ["that removes the tool", [], 'The tool "tool" is no longer served here.'],
    [
      "that changes its version",
      [asking({ version: "2" })],
      'The tool "tool" has changed and cannot go on with a task that an earlier version began.',
    ],
    [
      "whose version goes on with others only",
      [asking({ version: "3", compatible: (earlier) => earlier === "2" })],
      'The tool "tool" has changed and cannot go on with a task that an earlier version began.',
    ],
  ])("%s keeps what was answered until nobody can go on, and then says why", async (_, tools, statusMessage) => {
    const { deployment, id, deploy, answer } = await halfAnswered();
    deploy(tools);
    const waiting = await deployment.store.read(refTo(id));
    expect(waiting?.openQuestions.map(({ key }) => key)).toEqual(["b"]);
    expect(await answer("b")).toMatchObject({ changed: true, task: { openQuestions: [] } });
    const done = await until(deployment.store, id, "settled");
    expect(done).toMatchObject({ statusMessage, stage: { outcome: { kind: "error", error: { code: -32603 } } } });
    await rest(deployment, [id]);
    await expectSound(deployment.store, [id]);
  });

  it("that was taken back before the answer came changes nothing", async () => {
    const { deployment, id, deploy, answer } = await halfAnswered();
    deploy([]);
    await deployment.store.read(refTo(id));
    await evict(taskOf(id));
    deploy([old]);
    await answer("b");
    const { a, b } = JSON.parse(textOf(await until(deployment.store, id, "settled"))) as Record<string, unknown>;
    expect([a, b]).toEqual([JSON.parse(accept("a")), JSON.parse(accept("b"))]);
  });

  it("to a compatible version goes on with both answers", async () => {
    const { deployment, id, deploy, answer } = await halfAnswered();
    deploy([asking({ version: "2", compatible: (earlier) => earlier === "1" })]);
    await answer("b");
    const { a, b } = JSON.parse(textOf(await until(deployment.store, id, "settled"))) as Record<string, unknown>;
    expect([a, b]).toEqual([JSON.parse(accept("a")), JSON.parse(accept("b"))]);
    await rest(deployment, [id]);
    await expectSound(deployment.store, [id]);
  });
});

async function deployed() {
  const deployment = await emptyDeployment();
  setStage({ registry, limits, clock: deployment.now });
  return deployment;
}

describe("a clock that jumps a month ahead", () => {
  it("makes what has expired missing at once, however it was busy, and the sweep leaves nothing", async () => {
    const deployment = await deployed();
    const { store, advance } = deployment;
    const facts = { ttlMs: DAY };
    const running = await created(deployment, "hang", facts);
    const done = await created(deployment, "echo", facts);
    const asked = await created(deployment, "ask", facts);
    await until(store, running, "running");
    await until(store, done, "settled");
    await until(store, asked, "input_required");
    advance(31 * DAY);
    for (const id of [running, done, asked]) {
      expect(await store.read(refTo(id))).toBeNull();
      expect(await store.tell(refTo(id), { kind: "cancel" })).toBeNull();
      expect(await rowOf(store, id)).toBeUndefined();
    }
    expect(await store.sweep(1_000)).toMatchObject({ removed: 3, failures: 0 });
    for (const id of [running, done, asked]) expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    await expectSound(store, []);
  });

  it("lets no result of a run bring its task back", async () => {
    const deployment = await deployed();
    const { store, advance, now } = deployment;
    let isOver = false;
    let runs = 0;
    const run = async () => {
      runs += 1;
      while (!isOver) await new Promise((resolve) => setTimeout(resolve, 5));
      return "too late";
    };
    const facts = { name: "late", description: "Ends late.", task: "optional", input: { type: "object" } } as const;
    setStage({ registry: createRegistry([defineTool({ ...facts, run })]), limits, clock: now });
    const id = await created(deployment, "late", { ttlMs: DAY });
    await until(store, id, "running");
    advance(31 * DAY);
    isOver = true;
    // Nobody swept yet: its result may be stored, and stays unseen.
    for (let look = 0; look < 10; look += 1) expect(await store.read(refTo(id))).toBeNull();
    await expect.poll(async () => JSON.stringify((await storedIn(taskOf(id))).rows["log"])).toMatch(/expired|settled/);
    expect(await store.read(refTo(id))).toBeNull();
    advance(31 * DAY);
    await store.sweep(1_000);
    expect(await storedIn(taskOf(id))).toEqual(NOTHING);
    expect(runs).toBe(1);
  });
});

describe("a clock that goes back an hour", () => {
  it("takes no time of a task back, and makes nothing due again", async () => {
    const deployment = await deployed();
    const { store, advance, now } = deployment;
    const done = await created(deployment, "echo", { arguments: '{"text":"done"}' });
    const nap = await created(deployment, "nap", { arguments: JSON.stringify({ until: now() + HOUR }) });
    const ask = await created(deployment, "ask");
    const hang = await created(deployment, "hang");
    await until(store, done, "settled");
    await until(store, nap, "sleeping");
    await until(store, ask, "input_required");
    await until(store, hang, "running");
    const before = await Promise.all([done, nap, ask, hang].map((id) => store.read(refTo(id))));
    advance(-HOUR);
    for (const id of [done, nap, ask]) await evict(taskOf(id));
    expect(await store.sweep(1_000)).toMatchObject({ poked: 0, removed: 0, dropped: 0, failures: 0 });
    expect(await Promise.all([done, nap, ask, hang].map((id) => store.read(refTo(id))))).toEqual(before);
    await store.tell(refTo(hang), { kind: "cancel" });
    const cancelled = await until(store, hang, "cancelled");
    expect(cancelled.updatedAt).toBeGreaterThanOrEqual(before[3]?.updatedAt ?? Infinity);
    advance(2 * HOUR + 3 * MINUTE);
    await until(store, ask, "input_required");
    await store.sweep(1_000);
    expect(textOf(await until(store, nap, "settled"))).toBe("rested");
    await store.tell(refTo(ask), { kind: "answer", answers: { name: accept("Ada") } });
    expect(textOf(await until(store, ask, "settled"))).toBe(accept("Ada"));
    await rest(deployment, [done, nap, ask, hang]);
    await expectSound(store, [done, nap, ask, hang]);
  });

  it("loses no answer given then, and runs what is made then", async () => {
    const deployment = await deployed();
    const { store, advance } = deployment;
    const ask = await created(deployment, "ask");
    const asked = await until(store, ask, "input_required");
    advance(-HOUR);
    await store.tell(refTo(ask), { kind: "answer", answers: { name: accept("Ada") } });
    const echo = await created(deployment, "echo", { arguments: '{"text":"hello"}' });
    expect(textOf(await until(store, echo, "settled"))).toBe("hello");
    advance(HOUR + 3 * MINUTE);
    await store.sweep(1_000);
    const done = await until(store, ask, "settled");
    expect(textOf(done)).toBe(accept("Ada"));
    expect(done.updatedAt).toBeGreaterThanOrEqual(asked.updatedAt);
    await rest(deployment, [ask, echo]);
    await expectSound(store, [ask, echo]);
  });

  it("does not hold up a task that is answered then", async () => {
    const deployment = await deployed();
    const { store, advance } = deployment;
    const ask = await created(deployment, "ask");
    await until(store, ask, "input_required");
    advance(-HOUR);
    await store.tell(refTo(ask), { kind: "answer", answers: { name: accept("Ada") } });
    expect(textOf(await until(store, ask, "settled"))).toBe(accept("Ada"));
    await rest(deployment, [ask]);
    await expectSound(store, [ask]);
  });

  it("lets the sweep find, a minute late, one that was answered then and whose alarm was lost", async () => {
    const deployment = await deployed();
    const { store, advance } = deployment;
    const ask = await created(deployment, "ask");
    await until(store, ask, "input_required");
    advance(-HOUR);
    // Its alarm is lost as it fires.
    const alarm = vi.spyOn(TaskObject.prototype, "alarm").mockImplementation(async () => {});
    await store.tell(refTo(ask), { kind: "answer", answers: { name: accept("Ada") } });
    await vi.waitUntil(() => alarm.mock.calls.length > 0, { timeout: 20_000 });
    alarm.mockRestore();
    await evict(taskOf(ask));
    expect(await store.sweep(1_000)).toMatchObject({ poked: 0 });
    advance(5 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    expect(textOf(await until(store, ask, "settled"))).toBe(accept("Ada"));
    await rest(deployment, [ask]);
    await expectSound(store, [ask]);
  });

  it("lets a task settle whose alarm was lost as well", async () => {
    const deployment = await deployed();
    const { store, advance, now } = deployment;
    const nap = await created(deployment, "nap", { arguments: JSON.stringify({ until: now() + MINUTE }) });
    await until(store, nap, "sleeping");
    await loseAlarm(nap);
    await evict(taskOf(nap));
    advance(-HOUR);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 0 });
    advance(HOUR + 4 * MINUTE);
    expect(await store.sweep(1_000)).toMatchObject({ poked: 1 });
    expect(textOf(await until(store, nap, "settled"))).toBe("rested");
  });
});
