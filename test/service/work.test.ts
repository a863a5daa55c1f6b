import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lean, planWork, type WorkAct, type Worked } from "../../src/service/work";
import type { InputRequest, Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { limits } from "../support/memory";
import { draft } from "../support/task";

const ASKED: InputRequest = { method: "elicitation/create", params: { mode: "form", message: "Sure?" } };
const LEASE_MS = 30_000;

const leases = fc.constantFrom("a", "b", "c");
const step = fc.record({
  pause: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 40_000 })),
  lease: leases,
  what: fc.constantFrom<WorkAct["kind"] | "cancel" | "answer">(
    "claim",
    "claim",
    "claim",
    "heartbeat",
    "heartbeat",
    "progress",
    "ask",
    "answer",
    "complete",
    "fail",
    "release",
    "tend",
    "cancel",
  ),
  retry: fc.boolean(),
  text: fc.constantFrom("r1", "r2"),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const seldom = (kind: Step["what"]) => kind === "complete" || kind === "cancel";
const life = fc.array(
  fc.oneof({ weight: 20, arbitrary: step.filter(({ what }) => !seldom(what)) }, { weight: 1, arbitrary: step }),
  { maxLength: 80 },
);

function actOf({ what, lease, retry, text }: Step, now: number): WorkAct | null {
  switch (what) {
    case "claim":
      return { kind: "claim", lease: { id: lease, until: now + LEASE_MS, worker: lease } };
    case "heartbeat":
      return { kind: "heartbeat", lease, until: now + LEASE_MS };
    case "progress":
      return { kind: "progress", lease, progress: { message: text } };
    case "ask":
      return { kind: "ask", lease, questions: { [text]: ASKED } };
    case "complete":
      return { kind: "complete", lease, result: JSON.stringify({ content: [{ type: "text", text }] }) };
    case "fail":
      return { kind: "fail", lease, error: { code: 1, message: text }, retry };
    case "release":
      return { kind: "release", lease };
    case "tend":
      return { kind: "tend" };
    default:
      return null;
  }
}

type Seen = {
  readonly before: Task;
  readonly after: Task;
  readonly act: WorkAct;
  readonly worked: Worked;
  readonly now: number;
};

/** Many workers at one task, and a client, in any order and at any time. */
function live(steps: readonly Step[], see: (seen: Seen) => void): void {
  const runs = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
  let task = createTask(draft({ runs, ttlMs: null })).task;
  let now = task.createdAt;
  for (const one of steps) {
    now += one.pause;
    const act = actOf(one, now);
    if (act === null) {
      const answers = { r1: '{"action":"decline"}', r2: '{"action":"decline"}' };
      task =
        one.what === "cancel"
          ? transition(task, { type: "cancelled", at: now, minTtlMs: 0 }).task
          : transition(task, { type: "answered", at: now, answers, refused: {} }).task;
      continue;
    }
    const before = task;
    const plan = planWork(task, act, { limits: { ...limits, maxAttempts: 9 }, now, random: () => 0.5 });
    for (const event of plan.events) task = transition(task, event).task;
    see({ before, after: task, act, worked: plan.answer(task), now });
  }
}

const always = (see: (seen: Seen) => void): void =>
  fc.assert(
    fc.property(life, (steps) => live(steps, see)),
    { numRuns: 500 },
  );

const isLive = ({ lease, stage }: Task, now: number) =>
  stage.phase !== "settled" && lease !== null && lease.until > now;

const facts = ({ stage, questions, progress, statusMessage, attempts }: Task) => ({
  stage,
  questions,
  progress,
  statusMessage,
  attempts,
});

describe("workers at one task, over random lives", () => {
  it("hold it one at a time: a claim is held only when nobody else is", () => {
    always(({ before, act, worked, now }) => {
      if (act.kind !== "claim" || worked.kind !== "held") return;
      if (isLive(before, now)) expect(before.lease?.id).toBe(act.lease.id);
      expect(worked.task.lease).toMatchObject({ id: act.lease.id });
      expect(worked.task.lease?.until).toBeGreaterThanOrEqual(act.lease.until);
    });
  });

  it("change nothing without the lease that is in force, but for what time alone brings", () => {
    always(({ before, after, act, worked, now }) => {
      if (!("lease" in act) || act.kind === "claim") return;
      if (isLive(before, now) && before.lease?.id === act.lease) return;
      expect(["lost", "cancelled", "settled"]).toContain(worked.kind);
      // Whoever comes late finds out that it lapsed, whether or not the alarm had seen it.
      const lapsed = before.stage.phase !== "settled" && before.lease?.id === act.lease;
      if (!lapsed) return expect(after).toBe(before);
      expect(after.lease === null || after.stage.phase === "settled").toBe(true);
      const { progress, questions } = before;
      expect(facts(after)).toMatchObject({ progress, questions });
    });
  });

  it("are told that they hold it exactly when they do", () => {
    always(({ after, act, worked, now }) => {
      if (!("lease" in act)) return;
      const id = act.kind === "claim" ? act.lease.id : act.lease;
      const holds = isLive(after, now) && after.lease?.id === id;
      if (worked.kind === "held") expect(holds).toBe(true);
      if (holds) expect(["held", "refused"]).toContain(worked.kind);
    });
  });

  it("change nothing of what is settled, and are told so", () => {
    always(({ before, after, act, worked }) => {
      if (before.stage.phase !== "settled") return;
      expect(after).toBe(before);
      expect(worked.kind).not.toBe("held");
      expect(worked.kind).not.toBe("returned");
      if (worked.kind === "settled" && act.kind === "complete")
        expect(before.stage.outcome).toMatchObject({ result: act.result });
    });
  });

  it("change nothing when they are refused", () => {
    always(({ before, after, worked }) => {
      if (worked.kind === "refused") expect(after).toBe(before);
    });
  });

  it("change nothing more by saying the same twice", () => {
    always(({ after, act, worked, now }) => {
      if (act.kind === "tend") return;
      const again = planWork(after, act, { limits: { ...limits, maxAttempts: 9 }, now, random: () => 0.5 });
      const twice = again.events.reduce((task, event) => transition(task, event).task, after);
      expect(twice).toBe(after);
      const gone = worked.kind === "returned" ? "lost" : worked.kind;
      expect(again.answer(after).kind).toBe(gone);
    });
  });
});

it("sends a worker no long text again that it has or has no use for", () => {
  const secret = { scheme: "Bearer", credentials: "c" };
  const target = { id: "p", url: "https://a.example/", token: "t", authentication: secret, wire: "a2a/1.0" };
  const push = [{ ...target, cursor: 0, failures: 0, retryAt: null, dead: [] }];
  const made = createTask(draft({ arguments: '{"long":1}', prepared: "1", extras: "2", push })).task;
  const task: Task = { ...made, turns: [{ id: "m", digest: "d", at: 1, message: '{"long":1}' }] };
  const outcome = { kind: "result", result: '{"long":1}', isError: false } as const;
  const settled: Task = { ...task, stage: { phase: "settled", outcome, settledAt: 1 }, steps: new Map([["s", "1"]]) };
  const worked: Worked = { kind: "lost", task: settled };
  expect(lean({ kind: "heartbeat", lease: "l" }, worked)).toEqual({
    kind: "lost",
    task: {
      ...settled,
      arguments: "",
      prepared: null,
      extras: null,
      turns: [],
      push: [],
      steps: new Map(),
      stage: { ...settled.stage, outcome: { ...outcome, result: "null" } },
    },
  });
  const held: Worked = { kind: "held", task: { ...task, steps: new Map([["s", "1"]]) } };
  const unsaid: Worked = { kind: "held", task: { ...held.task, turns: [], push: [] } };
  const emit = (event: TaskEvent): WorkAct => ({ kind: "emit", lease: "l", event });
  expect(lean({ kind: "claim", lease: { id: "l", until: 1, worker: "w" } }, held)).toEqual(unsaid);
  expect(lean(emit({ type: "stepped", at: 1, key: "t", value: "2" }), held)).toEqual(unsaid);
  expect(lean(emit({ type: "progressed", at: 1, progress: {} }), held)).toMatchObject({ task: { steps: new Map() } });
});
