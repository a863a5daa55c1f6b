import { afterEach, describe, expect, it, vi } from "vitest";
import type { WorkAct } from "../../src/service/work";
import { runWorkflow, type WorkflowEngine, type WorkflowRunParts } from "../../src/service/workflow-run";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { limits, movableClock } from "../support/memory";
import { passive } from "../support/passive";

const DAY = 86_400_000;

afterEach(() => void vi.useRealTimers());

/** A task in a Workflow whose engine says what it was told, and whose waits take no time but move the clock. */
function setUp(run: (task: TaskContext) => Promise<string>, over: Partial<WorkflowEngine> = {}) {
  const clock = movableClock();
  const { store, add, get } = passive(clock.now);
  const { id } = add({ tool: "tool", runs: { in: "workflow" } });
  const tool = defineTool({
    name: "tool",
    description: "tool",
    input: { type: "object" },
    task: "optional",
    runs: "workflow",
    run: (_, task) => run(task),
  });
  const told: string[] = [];
  const waits: number[] = [];
  const passes = async (name: string, ms: number): Promise<void> => {
    told.push(name);
    waits.push(ms);
    clock.advance(ms);
  };
  const engine: WorkflowEngine = {
    step: async (name, _limitMs, work) => void told.push(`${name}: ${await work()}`),
    sleep: passes,
    wait: passes,
    ...over,
  };
  let leases = 0;
  const log = vi.fn();
  const parts: WorkflowRunParts = {
    engine,
    newLease: () => `l${(leases += 1)}`,
    work: (act) => store.work(id, act),
    registry: createRegistry([tool]),
    limits,
    clock: clock.now,
    random: () => 1,
    fetch: () => Promise.reject(new Error("This test fetches nothing.")),
    log,
    asking: async () => {},
  };
  return { clock, parts, told, waits, log, engine, task: () => get(id), work: (act: WorkAct) => store.work(id, act) };
}

const outcome = (result: string) => ({
  phase: "settled",
  outcome: { kind: "result", result: JSON.stringify({ content: [{ type: "text", text: result }] }) },
});

describe("a Workflow", () => {
  it("runs the tool, waits as it says, and names what the engine keeps after the task's version", async () => {
    const { parts, told, task, clock } = setUp(async ({ step, sleep, ask, attempt }) => {
      await step("a\u0000\n".padEnd(300, "b"), () => 1);
      await sleep(clock.now() + 60_000);
      await ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } }, { timeoutMs: 90_000 });
      if (attempt === 1) throw new Error("This attempt fails on purpose.");
      return "done";
    });
    await runWorkflow(parts);
    expect(task().stage).toMatchObject(outcome("done"));
    const names = told.map((name) => name.replace(/a +b+/, "a"));
    expect(names).toEqual(["step a (2): fulfilled", "sleep (4)", "answer (6)", "sleep (9)"]);
    expect(told.every((name) => name.length <= 256)).toBe(true);
  });

  it("tells the engine that a step failed, and the task what was thrown", async () => {
    const thrown = { not: "an error", at: () => {} };
    let seen: unknown;
    const { parts, told, task } = setUp(async ({ step }) => {
      seen ??= await step("a", () => Promise.reject(thrown as unknown as Error)).catch((error: unknown) => error);
      return "done";
    });
    await runWorkflow(parts);
    expect(told).toEqual(["step a (2): rejected"]);
    expect(seen).toBe(thrown);
    expect(task().stage).toMatchObject(outcome("done"));
  });

  it("refuses steps that would not fit into one message with the task", async () => {
    const { parts, task } = setUp(async ({ step }) => {
      await step("a", () => "x".repeat(8_000_000));
      await step("b", () => "x".repeat(1_000_000));
      return "done";
    });
    await runWorkflow(parts);
    expect(task()).toMatchObject({ statusMessage: expect.stringMatching(/8388608 characters/) as string });
  });

  it("sleeps in pieces what is longer than the engine can", async () => {
    const end = Date.now() + 700 * DAY;
    const { parts, waits, task } = setUp(async ({ sleep }) => {
      await sleep(end);
      return "awake";
    });
    await runWorkflow({ ...parts, limits: { ...limits, maxTtlMs: null } });
    expect(task().stage).toMatchObject(outcome("awake"));
    expect(waits.map((ms) => Math.round(ms / DAY))).toEqual([300, 300, 100]);
  });

  it("looks again when it was woken and nothing had changed", async () => {
    const { parts, task, told, clock, engine } = setUp(
      async ({ ask }) => (await ask({ k: { kind: "form", message: "K?", schema: { type: "object" } } })).k.action,
    );
    const wait = async (name: string, ms: number): Promise<void> => {
      told.push(name);
      if (told.length === 3) clock.advance(ms);
    };
    await runWorkflow({ ...parts, engine: { ...engine, wait } });
    expect(task().stage).toMatchObject(outcome("cancel"));
    expect(told).toEqual(["answer (3)", "answer (3)", "answer (3)"]);
  });

  it("lets the engine end its life in a step: the run counts for nothing, and the next life repeats it", async () => {
    const stop = new Error("Aborting engine");
    const { parts, task, engine } = setUp(async ({ step }) => `${await step("a", () => 1)}`);
    const broken = { ...engine, step: () => Promise.reject(stop) };
    await expect(runWorkflow({ ...parts, engine: broken })).rejects.toBe(stop);
    expect(task()).toMatchObject({ attempts: 0, stage: { activity: { kind: "running" } } });
    await runWorkflow(parts);
    expect(task()).toMatchObject({ restarts: 1, attempts: 0, stage: outcome("1") });
  });

  it("lets the engine end its life in a wait", async () => {
    const stop = new Error("Aborting engine");
    const sleep = () => Promise.reject(stop);
    const { parts, task, clock } = setUp(
      async (context) => {
        await context.sleep(clock.now() + DAY);
        return "awake";
      },
      { sleep },
    );
    await expect(runWorkflow(parts)).rejects.toBe(stop);
    expect(task().stage).toMatchObject({ activity: { kind: "sleeping" } });
  });

  it("tries again later when the task could not be reached", async () => {
    vi.useFakeTimers();
    let reachable = false;
    const { parts, told, log, task } = setUp(async () => "done");
    const sleep = async (name: string): Promise<void> => {
      told.push(name);
      reachable = told.length === 2;
    };
    const work: WorkflowRunParts["work"] = (act) =>
      reachable ? parts.work(act) : Promise.reject(new Error("unreachable"));
    const over = runWorkflow({ ...parts, work, engine: { ...parts.engine, sleep } });
    await vi.advanceTimersByTimeAsync(60_000);
    await over;
    expect(told).toEqual(["pause", "pause"]);
    expect(log).toHaveBeenCalledWith("error", "A Workflow could not reach its task.", { error: "Error: unreachable" });
    expect(task().stage).toMatchObject(outcome("done"));
  });

  it("goes on soon where its run was lost and the task is due again", async () => {
    vi.useFakeTimers();
    let began = 0;
    const { parts, told, task, work } = setUp(async ({ step }) => {
      began += 1;
      if (began === 1) await work({ kind: "release", lease: "l1" });
      return `${await step("a", () => began)}`;
    });
    const over = runWorkflow(parts);
    await vi.advanceTimersByTimeAsync(5_000);
    await over;
    expect(task()).toMatchObject({ stage: outcome("2"), restarts: 0 });
    expect(told.filter((name) => name.startsWith("pause"))).toEqual([]);
  });

  it("is over at once when there is no such task, when it has settled, and when it has expired", async () => {
    const run = vi.fn(async () => "done");
    const { parts, told, work, clock, task } = setUp(run);
    await runWorkflow({ ...parts, work: async () => null });
    const expired = { kind: "lost", task: { ...task(), ttlMs: 1 } } as const;
    await runWorkflow({ ...parts, work: async () => expired, clock: () => clock.now() + 10 });
    await work({ kind: "abandoned", reason: "It was ended." });
    await runWorkflow(parts);
    expect([run.mock.calls.length, told]).toEqual([0, []]);
  });

  it("keeps its lease while a step goes on", async () => {
    vi.useFakeTimers();
    const { parts, task } = setUp(async ({ step }) => {
      await step("long", () => new Promise((resolve) => setTimeout(() => resolve(1), 60_000)));
      return "done";
    });
    const over = runWorkflow(parts);
    await vi.advanceTimersByTimeAsync(45_000);
    expect(task().lease).toMatchObject({ id: "l1", worker: "workflow" });
    expect(task().lease?.until).toBeGreaterThan(Date.now());
    await vi.advanceTimersByTimeAsync(20_000);
    await over;
    expect(task().stage).toMatchObject(outcome("done"));
    expect(vi.getTimerCount()).toBe(0);
  });
});
