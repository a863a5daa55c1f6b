import { describe, expect, it } from "vitest";
import { planWork, type WorkAct } from "../../src/service/work";
import type { Task } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { limits } from "../support/memory";
import { draft } from "../support/task";

/** A task in a Workflow, and what acts on it come to. */
function setUp(over: Partial<typeof limits> = {}) {
  let now = 1_000;
  let task: Task = createTask(draft({ runs: { in: "workflow" }, ttlMs: null })).task;
  const act = (what: WorkAct) => {
    const plan = planWork(task, what, { limits: { ...limits, ...over }, now, random: () => 0.5 });
    task = plan.events.reduce((before, event) => transition(before, event).task, task);
    return plan.answer(task);
  };
  const claim = (id: string) => act({ kind: "claim", lease: { id, until: now + 30_000, worker: "workflow" } });
  return { act, claim, task: () => task, wait: (ms: number) => void (now += ms) };
}

const stepped = (lease: string, key: string): WorkAct => ({
  kind: "emit",
  lease,
  event: { type: "stepped", at: 2_000, key, value: "1" },
});

describe("a run in a Workflow", () => {
  it("keeps its lease however long it is silent: what a long step came to is not lost", () => {
    const { act, claim, wait, task } = setUp();
    claim("a");
    wait(3_600_000);
    expect(act({ kind: "tend" })).toMatchObject({ kind: "held" });
    expect(act(stepped("a", "long"))).toMatchObject({ kind: "held" });
    expect([...task().steps.keys()]).toEqual(["long"]);
    expect([task().restarts, task().attempts]).toEqual([0, 0]);
  });

  it("is given as long again when its engine says that it goes on", () => {
    const { act, claim, wait, task } = setUp();
    claim("a");
    wait(30_000);
    act({ kind: "offered" });
    expect(task()).toMatchObject({ lease: { id: "a", until: 61_000 }, offeredAt: null });
  });

  it("is over once another life of the Workflow claims the task, and that is a restart", () => {
    const { act, claim, task } = setUp();
    claim("a");
    expect(claim("b")).toMatchObject({ kind: "held", task: { restarts: 1, lease: { id: "b" } } });
    expect(act(stepped("a", "late"))).toMatchObject({ kind: "lost" });
    expect(task().steps.size).toBe(0);
    // The answer to a claim was lost: the same again is no restart.
    expect(claim("b")).toMatchObject({ kind: "held", task: { restarts: 1 } });
  });

  it("backs off after restarts one upon the other, and is given up at last", () => {
    const { claim, task } = setUp({ maxRestarts: 4 });
    for (const id of ["a", "b", "c", "d"]) expect(claim(id)).toMatchObject({ kind: "held" });
    expect(claim("e")).toMatchObject({
      kind: "lost",
      task: { restarts: 4, stage: { activity: { kind: "backing_off" } } },
    });
    expect(task().lease).toBeNull();
  });

  it("settles with the reason when nobody will go on with it, once", () => {
    const { act, claim, task } = setUp();
    claim("a");
    const first = { kind: "abandoned", reason: "It was ended." } as const;
    expect(act(first)).toMatchObject({ kind: "settled" });
    act({ kind: "abandoned", reason: "It was ended again." });
    const error = { code: -32603, message: "It was ended." };
    expect(task()).toMatchObject({ statusMessage: "It was ended.", stage: { outcome: { kind: "error", error } } });
    expect(act(stepped("a", "late"))).toMatchObject({ kind: "lost" });
  });
});

it("nobody but a Workflow abandons a task", () => {
  const { task } = createTask(draft({ ttlMs: null }));
  const { events } = planWork(task, { kind: "abandoned", reason: "No." }, { limits, now: 1, random: () => 0.5 });
  expect(events).toEqual([]);
});
