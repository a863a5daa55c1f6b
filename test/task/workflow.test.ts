import { describe, expect, it } from "vitest";
import { mustOffer, nextDue } from "../../src/task/due";
import type { TaskEvent } from "../../src/task/event";
import type { Task } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { draft } from "../support/task";

const QUARTER = 900_000;
const GRACE = 5_000;
const LEASE = { id: "l", until: 32_000, worker: "workflow" };

const born = (): Task => createTask(draft({ runs: { in: "workflow" }, ttlMs: null })).task;
const after = (...events: readonly TaskEvent[]): Task =>
  events.reduce((task, event) => transition(task, event).task, born());

const offered = (at: number): TaskEvent => ({ type: "offered", at });
const started: TaskEvent = { type: "started", at: 2_000, lease: LEASE };
const slept: TaskEvent = { type: "slept", at: 3_000, sleeps: [{ ordinal: 0, until: 60_000 }], ttlMs: null };
const request = { method: "elicitation/create", params: { mode: "form", message: "K?" } } as const;
const asked: TaskEvent = {
  type: "asked",
  at: 3_000,
  questions: [{ authorKey: "k", occurrence: 1, request, deadline: 90_000 }],
  sleeps: [],
  ttlMs: null,
};
const answered: TaskEvent = { type: "answered", at: 4_000, answers: { k: '{"action":"accept"}' }, refused: {} };

describe("a task that runs in a Workflow", () => {
  it("is handed over when it is made, and again a quarter of an hour later if no run begins", () => {
    expect([mustOffer(born(), 1_000), nextDue(born())]).toEqual([true, 1_000]);
    const handed = after(offered(1_500));
    expect(mustOffer(handed, 1_500 + QUARTER - 1)).toBe(false);
    expect(mustOffer(handed, 1_500 + QUARTER)).toBe(true);
    expect(nextDue(handed)).toBe(1_500 + QUARTER);
  });

  it("is left to its Workflow while it runs, and asked after once it has said nothing for as long as its lease", () => {
    const running = after(offered(1_500), started);
    expect(running.offeredAt).toBeNull();
    expect(mustOffer(running, LEASE.until - 1)).toBe(false);
    expect(mustOffer(running, LEASE.until)).toBe(true);
    expect(nextDue(running)).toBe(LEASE.until);
    expect(nextDue(transition(running, { type: "renewed", at: 20_000, until: 50_000 }).task)).toBe(50_000);
  });

  it("has no lease while it sleeps, and is called only when it oversleeps", () => {
    const asleep = after(started, slept);
    expect(asleep.lease).toBeNull();
    expect(nextDue(asleep)).toBe(60_000 + GRACE);
    expect(mustOffer(asleep, 60_000 + GRACE - 1)).toBe(false);
    expect(mustOffer(asleep, 60_000 + GRACE)).toBe(true);
    // Its Workflow itself is in time.
    expect(transition(asleep, { type: "started", at: 60_000, lease: LEASE }).task.lease).toEqual(LEASE);
  });

  it("has no lease while it waits for an answer, and is handed over at once when it has come", () => {
    const asking = after(started, asked);
    expect([asking.lease, mustOffer(asking, 1_000_000), nextDue(asking)]).toEqual([null, false, 90_000]);
    const due = transition(asking, answered).task;
    expect(mustOffer(due, 4_000)).toBe(true);
    // Also where the clock was set back meanwhile.
    expect([nextDue(due, 9_000), nextDue(due, 1_000)]).toEqual([4_000, 1_000]);
  });

  it("backs off in its Workflow after a failed attempt", () => {
    const giveUp = { kind: "error", error: { code: -32603, message: "It failed." } } as const;
    const at = 3_000;
    const failed: TaskEvent = { type: "attempt_failed", at, retryAt: 5_000, statusMessage: "No.", giveUp, minTtlMs: 0 };
    expect(nextDue(after(started, failed))).toBe(5_000 + GRACE);
  });
});
