import { describe, expect, it } from "vitest";
import { outstanding, type Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";

const result = { kind: "result", result: '{"content":[]}', isError: false } as const;
const giveUp = { kind: "error", error: { code: -32603, message: "It failed." } } as const;
const form = (message: string) =>
  ({ method: "elicitation/create", params: { mode: "form", message, requestedSchema: { type: "object" } } }) as const;
const born = () => createTask(draft()).task;

type Place = "submitted" | "running" | "due" | "sleeping" | "backing_off" | "input_required" | "settled";

const running = () => transition(born(), { type: "started", at: 1_100 }).task;
const asked = () =>
  transition(running(), {
    type: "asked",
    at: 1_200,
    sleeps: [],
    ttlMs: 100_000,
    questions: [{ authorKey: "k", occurrence: 1, request: form("Sure?"), deadline: 9_000 }],
  }).task;
const places: Record<Place, () => Task> = {
  submitted: born,
  running,
  due: () => transition(running(), { type: "restarted", at: 1_200, retryAt: 0, maxRestarts: 9, minTtlMs: 0 }).task,
  sleeping: () =>
    transition(running(), { type: "slept", at: 1_200, sleeps: [{ ordinal: 0, until: 8_000 }], ttlMs: 100_000 }).task,
  backing_off: () =>
    transition(running(), {
      type: "attempt_failed",
      at: 1_200,
      retryAt: 8_000,
      statusMessage: "No.",
      giveUp,
      minTtlMs: 0,
    }).task,
  input_required: asked,
  settled: () =>
    transition(running(), { type: "settled", at: 1_200, outcome: result, statusMessage: null, minTtlMs: 0 }).task,
};

const late = 10_000;
const wish = { id: "p", url: "https://a.example/", token: null, authentication: null, wire: "a2a/1.0" };
const sample: Record<TaskEvent["type"], TaskEvent> = {
  offered: { type: "offered", at: late },
  claimed: { type: "claimed", at: late, lease: { id: "l", until: 20_000, worker: "w" } },
  renewed: { type: "renewed", at: late, until: 30_000 },
  released: { type: "released", at: late },
  lease_lapsed: { type: "lease_lapsed", at: late, retryAt: 20_000, statusMessage: "No.", giveUp, minTtlMs: 0 },
  started: { type: "started", at: late },
  restarted: { type: "restarted", at: late, retryAt: 0, maxRestarts: 9, minTtlMs: 0 },
  progressed: { type: "progressed", at: late, progress: { message: "half" } },
  stepped: { type: "stepped", at: late, key: "s", value: "1" },
  asked: {
    type: "asked",
    at: late,
    sleeps: [],
    ttlMs: 100_000,
    questions: [{ authorKey: "new", occurrence: 1, request: form("New?"), deadline: 20_000 }],
  },
  slept: { type: "slept", at: late, sleeps: [{ ordinal: 5, until: 20_000 }], ttlMs: 100_000 },
  answered: { type: "answered", at: late, answers: { k: '{"action":"decline"}' }, refused: {} },
  questions_lapsed: { type: "questions_lapsed", at: late },
  attempt_failed: { type: "attempt_failed", at: late, retryAt: 20_000, statusMessage: "No.", giveUp, minTtlMs: 0 },
  settled: { type: "settled", at: late, outcome: result, statusMessage: null, minTtlMs: 0 },
  cancelled: { type: "cancelled", at: late, minTtlMs: 0 },
  expired: { type: "expired", at: late },
  said: { type: "said", at: late, turn: { id: "m", digest: "d", at: late, message: "Hello?" }, statusMessage: null },
  push_set: { type: "push_set", at: late, target: wish },
  push_removed: { type: "push_removed", at: late, id: "p" },
  pushed: { type: "pushed", at: late, id: "p", seq: 1 },
  push_failed: { type: "push_failed", at: late, id: "p", seq: 1, retryAt: 20_000, reason: "No answer." },
};

/** Where each event leads from each place; what is not named here is a non-event. */
const leadsTo: Partial<Record<TaskEvent["type"], Partial<Record<Place, string>>>> = {
  started: { submitted: "running", due: "running", sleeping: "running", backing_off: "running" },
  claimed: { submitted: "running", due: "running", sleeping: "running", backing_off: "running" },
  restarted: { running: "due" },
  progressed: { running: "running" },
  stepped: { running: "running" },
  asked: { running: "input_required" },
  slept: { running: "sleeping" },
  answered: { input_required: "due" },
  questions_lapsed: { input_required: "due" },
  attempt_failed: { running: "backing_off" },
};
const everywhereAlive = Object.fromEntries(
  Object.keys(places)
    .filter((place) => place !== "settled")
    .map((place) => [place, "settled"]),
);
for (const type of ["settled", "cancelled", "expired"] as const) leadsTo[type] = everywhereAlive;
const stays = Object.fromEntries(Object.keys(places).map((place) => [place, place]));
leadsTo.push_set = stays;
const { settled: _, ...staysAlive } = stays;
leadsTo.said = staysAlive;

describe("transition, every event in every phase", () => {
  const placeOf = ({ stage }: Task) => (stage.phase === "working" ? stage.activity.kind : stage.phase);
  for (const [place, at] of Object.entries(places)) {
    for (const happened of Object.values(sample)) {
      const expected = leadsTo[happened.type]?.[place as Place];
      it(`${place} + ${happened.type} ${expected ? `leads to ${expected}` : "changes nothing"}`, () => {
        const before = at();
        const { task } = transition(before, happened);
        if (expected) expect(placeOf(task)).toBe(expected);
        else expect(task).toBe(before);
        expect(task === before).toBe(expected === undefined);
      });
    }
  }

  it("does not wake a sleeper or a retry before its time", () => {
    for (const place of ["sleeping", "backing_off"] as const) {
      const before = places[place]();
      expect(transition(before, { type: "started", at: 7_999 }).task).toBe(before);
      expect(transition(before, { type: "started", at: 8_000 }).task).not.toBe(before);
    }
  });
});

describe("transition, what the rules promise", () => {
  it("ends with its ttl, whatever comes then: a late result brings nothing back", () => {
    const task = running();
    const end = task.createdAt + (task.ttlMs as number);
    const done = (at: number) =>
      ({ type: "settled", at, outcome: result, statusMessage: null, minTtlMs: 60_000 }) as const;
    expect(transition(task, done(end - 1)).task.stage).toMatchObject({ outcome: result });
    const late = transition(task, done(end)).task;
    expect(late.stage).toMatchObject({ phase: "settled", outcome: { kind: "expired" } });
    expect(late.ttlMs).toBe(task.ttlMs);
  });

  it("stays with the questions until the last is answered", () => {
    const two = ["a", "b"].map((authorKey) => ({
      authorKey,
      occurrence: 1,
      request: form(authorKey),
      deadline: 9_000,
    }));
    const waiting = transition(running(), {
      type: "asked",
      at: 1_200,
      sleeps: [],
      ttlMs: 100_000,
      questions: two,
    }).task;
    const half = transition(waiting, { type: "answered", at: 1_300, answers: { a: "{}" }, refused: {} }).task;
    expect([half.stage.phase, outstanding(half).map(({ key }) => key)]).toEqual(["input_required", ["b"]]);
    const both = transition(half, { type: "answered", at: 1_400, answers: { b: "{}" }, refused: {} }).task;
    expect(both.stage).toEqual({ phase: "working", activity: { kind: "due" } });
  });

  it("retires the key of an unusable answer and asks again under a new one, saying why", () => {
    const again = transition(asked(), {
      type: "answered",
      at: 1_300,
      answers: {},
      refused: { k: "v must be text." },
    }).task;
    const [retired, open] = again.questions;
    expect(retired).toMatchObject({ key: "k", state: { kind: "retired", reason: "v must be text." } });
    expect(open).toMatchObject({ key: "k-2", authorKey: "k", occurrence: 1, state: { kind: "open" } });
    expect(open?.request.params["message"]).toMatch(/^Sure\?\n\n.*v must be text\.$/);
    const third = transition(again, {
      type: "answered",
      at: 1_400,
      answers: { k: "{}" },
      refused: { "k-2": "still wrong." },
    }).task;
    expect(outstanding(third).map(({ key }) => key)).toEqual(["k-3"]);
    expect(outstanding(third)[0]?.request.params["message"]).toMatch(/^Sure\?\n\n[^\n]*still wrong\.$/);
  });

  it("does not let unusable answers grow a task without end", () => {
    let task = asked();
    for (let n = 0; n < 100; n += 1) {
      const refused = Object.fromEntries(outstanding(task).map(({ key }) => [key, "wrong."]));
      task = transition(task, { type: "answered", at: 1_300, answers: {}, refused }).task;
    }
    expect(task.questions.length).toBeLessThan(30);
    expect(task.questions.at(-1)?.state).toMatchObject({ kind: "answered", answer: '{"action":"cancel"}' });
  });

  it("gives a lapsed question the answer cancel", () => {
    const lapsed = transition(asked(), { type: "questions_lapsed", at: 9_000 }).task;
    expect(lapsed.questions[0]?.state).toMatchObject({ kind: "answered", answer: '{"action":"cancel"}' });
    expect(transition(asked(), { type: "questions_lapsed", at: 8_999 }).task.stage.phase).toBe("input_required");
  });

  it("leaves time to fetch after settling, and never shortens the ttl", () => {
    const settleAt = (at: number) =>
      transition(running(), { type: "settled", at, outcome: result, statusMessage: null, minTtlMs: 60_000 }).task;
    expect(settleAt(2_000).ttlMs).toBe(100_000);
    expect(settleAt(100_999).ttlMs).toBe(100_999 - 1_000 + 60_000);
  });

  it("gives up after the last attempt, and starts counting afresh when a new step was stored", () => {
    const failed = places.backing_off();
    expect(failed.attempts).toBe(1);
    const back = transition(failed, { type: "started", at: 8_000 }).task;
    expect(transition(back, { type: "stepped", at: 8_100, key: "s", value: "1" }).task.attempts).toBe(0);
    const gaveUp = transition(back, {
      type: "attempt_failed",
      at: 8_100,
      retryAt: null,
      statusMessage: "No.",
      giveUp,
      minTtlMs: 0,
    }).task;
    expect(gaveUp).toMatchObject({ attempts: 2, statusMessage: "No.", stage: { phase: "settled", outcome: giveUp } });
  });

  it("counts restarts of the platform apart, and gives up past their cap", () => {
    const again = (task: Task) =>
      transition(transition(task, { type: "restarted", at: 2_000, retryAt: 0, maxRestarts: 1, minTtlMs: 0 }).task, {
        type: "started",
        at: 2_000,
      }).task;
    const once = again(running());
    expect([once.restarts, once.attempts]).toEqual([1, 0]);
    const { task } = transition(once, { type: "restarted", at: 3_000, retryAt: 0, maxRestarts: 1, minTtlMs: 0 });
    expect(task.stage).toMatchObject({ phase: "settled", outcome: { kind: "error" } });
    expect(task.statusMessage).toMatch(/restarts/);
  });

  it("ends the n-th sleep when it was first told, whatever a repeated run asks for", () => {
    const slept = places.sleeping();
    const again = transition(transition(slept, { type: "started", at: 8_000 }).task, {
      type: "slept",
      at: 8_100,
      sleeps: [{ ordinal: 0, until: 99_000 }],
      ttlMs: 100_000,
    }).task;
    expect(again.sleeps).toEqual([8_000]);
    expect(again.stage).toEqual({ phase: "working", activity: { kind: "sleeping", until: 8_000 } });
  });
});
