import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mayStart, mustOffer, nextDue } from "../../src/task/due";
import type { TaskEvent } from "../../src/task/event";
import type { Task } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { draft } from "../support/task";

const RUNS = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
const born = (over = {}): Task => createTask(draft({ runs: RUNS, ttlMs: 10_000_000, ...over })).task;
const giveUp = { kind: "error", error: { code: -32603, message: "It failed." } } as const;
const form = { method: "elicitation/create", params: { mode: "form", message: "Sure?" } } as const;

const at = fc.integer({ min: 1_000, max: 150_000 });
const fault = { at, retryAt: fc.option(at), statusMessage: fc.constant("No."), giveUp: fc.constant(giveUp) };
const minTtlMs = fc.constant(5_000);
const kind = <T extends TaskEvent["type"]>(type: T) => ({ type: fc.constant(type) });

const event: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.record({ ...kind("offered"), at }),
  {
    weight: 3,
    arbitrary: fc.record({
      ...kind("claimed"),
      at,
      lease: fc.record({ id: fc.constantFrom("a", "b", "c"), until: at, worker: fc.constant("w") }),
    }),
  },
  fc.record({ ...kind("renewed"), at, until: at }),
  fc.record({ ...kind("released"), at }),
  fc.record({ ...kind("lease_lapsed"), ...fault, minTtlMs }),
  fc.record({ ...kind("attempt_failed"), ...fault, minTtlMs }),
  fc.record({ ...kind("progressed"), at, progress: fc.record({ progress: fc.integer({ min: 0, max: 3 }) }) }),
  fc.record({
    ...kind("asked"),
    at,
    questions: fc.array(
      fc.record({
        authorKey: fc.constantFrom("k", "l"),
        occurrence: fc.integer({ min: 1, max: 3 }),
        request: fc.constant(form),
        deadline: at,
      }),
      { minLength: 1, maxLength: 2 },
    ),
    sleeps: fc.constant([]),
    ttlMs: fc.constant(10_000_000),
  }),
  fc.record({
    ...kind("answered"),
    at,
    answers: fc.dictionary(fc.constantFrom("k", "l", "k-2"), fc.constant('{"action":"decline"}')),
    refused: fc.constant({}),
  }),
  fc.record({ ...kind("questions_lapsed"), at }),
  fc.record({ ...kind("cancelled"), at, minTtlMs }),
);

/** Long lives: what ends a task is rare. */
const life = fc.array(
  fc.oneof(
    { weight: 15, arbitrary: event.filter((one) => one.type !== "cancelled" && !("retryAt" in one && !one.retryAt)) },
    { weight: 1, arbitrary: event },
  ),
  { maxLength: 60 },
);

/** Every step of a random life of a task that waits for workers. */
const always = (check: (before: Task, event: TaskEvent, after: ReturnType<typeof transition>) => void): void =>
  fc.assert(
    fc.property(life, (events) => {
      let task = born();
      for (const happened of events) {
        const after = transition(task, happened);
        check(task, happened, after);
        task = after.task;
      }
    }),
  );

const isRunning = ({ stage }: Task) => stage.phase === "working" && stage.activity.kind === "running";

describe("a task that waits for workers, over random lives", () => {
  it("runs exactly while somebody holds it, and else is held only while it waits for input", () => {
    always((_, __, { task }) => {
      if (isRunning(task)) expect(task.lease).not.toBeNull();
      if (task.lease !== null) expect(isRunning(task) || task.stage.phase !== "working").toBe(true);
      if (mayStart(task, Infinity)) expect(task.lease).toBeNull();
    });
  });

  it("changes hands only by a claim, and never while it is held", () => {
    always((before, happened, { task }) => {
      if (task.lease === null || task.lease.id === before.lease?.id) return;
      expect(happened.type).toBe("claimed");
      expect(before.lease).toBeNull();
    });
  });

  it("counts an attempt exactly when one fails or falls silent in a run", () => {
    always((before, happened, { task, entry }) => {
      const accepted = entry !== null;
      const lost = happened.type === "attempt_failed" || (happened.type === "lease_lapsed" && isRunning(before));
      expect(task.attempts - before.attempts).toBe(accepted && lost ? 1 : 0);
    });
  });

  it("is due when its queue must be told of it, and when its lease ends", () => {
    always((_, happened, { task }) => {
      const now = Math.max(happened.at, task.updatedAt);
      if (task.stage.phase === "settled") return expect(nextDue(task)).toBeNull();
      if (mustOffer(task, now)) expect(nextDue(task)).toBeLessThanOrEqual(now);
      if (task.lease) expect(nextDue(task)).toBeLessThanOrEqual(task.lease.until);
      // Whatever holds it back, something wakes it before its ttl does.
      expect(nextDue(task)).toBeLessThan(task.createdAt + 10_000_000);
    });
  });

  it("gets a new version with every change that somebody sees, and none with the others", () => {
    always((before, happened, { task, entry }) => {
      expect(task.version - before.version).toBe(entry === null ? 0 : 1);
      if (task === before || entry !== null) return;
      expect(["renewed", "offered"]).toContain(happened.type);
      expect({ ...task, lease: null, offeredAt: null }).toEqual({ ...before, lease: null, offeredAt: null });
    });
  });
});

const lease = { id: "a", until: 5_000, worker: "w" };
const after = (...events: readonly TaskEvent[]): Task =>
  events.reduce((task, happened) => transition(task, happened).task, born());
const claimed: TaskEvent = { type: "claimed", at: 1_100, lease };
const asked: TaskEvent = {
  type: "asked",
  at: 1_200,
  questions: [{ authorKey: "k", occurrence: 1, request: form, deadline: 9_000 }],
  sleeps: [],
  ttlMs: 100_000,
};
const answered = (time: number): TaskEvent => ({
  type: "answered",
  at: time,
  answers: { k: '{"action":"decline"}' },
  refused: {},
});
const failedAt = (time: number, retryAt: number | null): TaskEvent => ({
  type: "attempt_failed",
  at: time,
  retryAt,
  statusMessage: "No.",
  giveUp,
  minTtlMs: 0,
});

describe("a question of a worker", () => {
  it("leaves it its lease, under which it goes on once there is an answer", () => {
    expect(after(claimed, asked)).toMatchObject({ lease, stage: { phase: "input_required" } });
    expect(after(claimed, asked, answered(1_300))).toMatchObject({
      lease,
      stage: { phase: "working", activity: { kind: "running" } },
    });
  });

  it("that is answered after its lease has lapsed makes the task wait for another worker, and costs no attempt", () => {
    const waiting = {
      lease: null,
      attempts: 0,
      offeredAt: null,
      stage: { phase: "working", activity: { kind: "due" } },
    };
    expect(after(claimed, asked, answered(5_000))).toMatchObject(waiting);
    const lapsed: TaskEvent = { ...failedAt(5_000, null), type: "lease_lapsed" } as TaskEvent;
    expect(after(claimed, asked, lapsed)).toMatchObject({ lease: null, stage: { phase: "input_required" } });
    expect(after(claimed, asked, lapsed, answered(6_000))).toMatchObject(waiting);
  });

  it("stays open when the worker fails meanwhile", () => {
    const failed = after(claimed, asked, failedAt(1_300, 3_000));
    expect(failed).toMatchObject({ lease: null, attempts: 1, stage: { phase: "input_required" } });
    expect(transition(failed, answered(1_400)).task.stage).toMatchObject({ activity: { kind: "due" } });
    expect(after(claimed, asked, failedAt(1_300, null)).stage).toMatchObject({ phase: "settled", outcome: giveUp });
  });
});

describe("a queue", () => {
  it("is told of a task when it begins to wait, and again when it may have forgotten", () => {
    const task = born();
    expect(mustOffer(task, 1_000)).toBe(true);
    const offered = transition(task, { type: "offered", at: 2_000 }).task;
    expect(offered).toMatchObject({ offeredAt: 2_000, version: task.version + 1 });
    expect(mustOffer(offered, 2_001)).toBe(false);
    const due = nextDue(offered) as number;
    expect(mustOffer(offered, due)).toBe(true);
    const again = transition(offered, { type: "offered", at: due });
    expect(again).toMatchObject({ task: { offeredAt: due, version: offered.version }, entry: null });
    expect(mustOffer(again.task, due)).toBe(false);
  });

  it("is told of no task that is held, backs off, or waits for input", () => {
    expect(mustOffer(after(claimed), 1_200)).toBe(false);
    expect(mustOffer(after(claimed, asked), 1_200)).toBe(false);
    const failed = after({ type: "offered", at: 1_050 }, claimed, failedAt(1_200, 3_000));
    expect(mustOffer(failed, 2_999)).toBe(false);
    expect(nextDue(failed)).toBe(3_000);
    expect(mustOffer(failed, 3_000)).toBe(true);
    expect(transition(failed, { type: "claimed", at: 2_999, lease }).task).toBe(failed);
    expect(transition(failed, { type: "claimed", at: 3_000, lease }).task.lease).toEqual(lease);
  });
});
