import { expect, it } from "vitest";
import { longValues, shortFacts, toTask } from "../../src/service/task-record";
import type { JsonObject, JsonText } from "../../src/task/json";
import type { PushTarget, Task, Turn } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { withTurn } from "../../src/task/turns";
import { draft } from "../support/task";

const form = { method: "elicitation/create", params: { mode: "form", message: "Sure?" } } as const;
const turn = (id: string, digest: string, message: JsonText): Turn => ({ id, digest, at: 1_300, message });
const target: PushTarget = {
  id: "p",
  url: "https://a.example/hook",
  token: "t",
  authentication: { scheme: "Bearer", credentials: "c" },
  wire: "a2a/1.0",
  cursor: 2,
  failures: 1,
  retryAt: 9_000,
  dead: [{ seq: 1, at: 1_200, reason: "No answer." }],
};

const then = (task: Task, ...events: readonly TaskEvent[]): Task =>
  events.reduce((now, happened) => transition(now, happened).task, task);
const saying = (by: Turn): TaskEvent => ({ type: "said", at: 1_300, turn: by, statusMessage: null });

/** As storage does it: the record as JSON, and beside it every long value as text under its slot. */
function stored(task: Task): Task {
  const record = JSON.parse(JSON.stringify(shortFacts(task))) as JsonObject;
  const texts = new Map(
    [...longValues(task)].map(([slot, value]) => [slot, typeof value === "string" ? value : JSON.stringify(value)]),
  );
  return toTask(record, texts.keys(), (slot) => texts.get(slot));
}

const full = (): Task =>
  then(
    createTask(draft({ arguments: '{"a":1}', prepared: '"p"', extras: '{"m":1}', push: [target], unprepared: true }))
      .task,
    { type: "started", at: 1_100 },
    { type: "stepped", at: 1_150, key: "s", value: "1" },
    {
      type: "asked",
      at: 1_200,
      questions: ["k", "l"].map((authorKey) => ({ authorKey, occurrence: 1, request: form, deadline: 9_000 })),
      sleeps: [],
      ttlMs: 100_000,
    },
    {
      type: "answered",
      at: 1_300,
      answers: { k: '{"action":"accept"}' },
      refused: {},
      turn: turn("m", "d", '{"text":"Yes."}'),
    },
    saying(turn("m", "e", '{"text":"No!"}')),
  );

it("gives a task back as it was, with all that was said and who is told of it", () => {
  const task = full();
  expect(task).toMatchObject({ turns: [{ digest: "d" }, { digest: "e" }], push: [target], unprepared: true });
  expect(stored(task)).toEqual(task);
  const rejected = then(task, {
    type: "settled",
    at: 2_000,
    outcome: { kind: "rejected", reason: "No." },
    statusMessage: "No.",
    minTtlMs: 0,
  });
  expect(stored(rejected)).toEqual(rejected);
});

it("keeps no long text in the record, which is written again with every event", () => {
  const task = then(full(), saying(turn("long", "d", JSON.stringify("x".repeat(50_000)))));
  const before = JSON.stringify(shortFacts(full())).length;
  expect(JSON.stringify(shortFacts(task)).length - before).toBeLessThan(200);
});

it("writes a message once, and drops it when the conversation does", () => {
  const task = full();
  const more = then(task, saying(turn("n", "d", '"More."')));
  const [before, after] = [longValues(task), longValues(more)];
  expect([...after.keys()].filter((slot) => after.get(slot) !== before.get(slot))).toEqual(['["turn","n","d"]']);
  const turns = Array.from({ length: 100 }, (_, n) => turn(`new${n}`, "d", "1")).reduce(withTurn, more.turns);
  const later = longValues({ ...more, turns });
  expect([...after.keys()].filter((slot) => !later.has(slot))).toEqual([
    '["turn","m","d"]',
    '["turn","m","e"]',
    '["turn","n","d"]',
  ]);
});

it("tells messages apart whose names and digests run into each other", () => {
  const odd = [turn("a\u0000", "b", "1"), turn("a", "\u0000b", "2"), turn('a","b', "c", "3"), turn("a", 'b","c', "4")];
  const task = { ...full(), turns: odd };
  expect(stored(task).turns).toEqual(odd);
});

it("loads a record that was written before there were conversations, queues and push targets", () => {
  const { turns, push, unprepared, runs, offeredAt, lease, ...old } = shortFacts(full()) as Record<string, never>;
  expect(toTask(old, [], () => undefined)).toMatchObject({
    turns: [],
    push: [],
    runs: { in: "object" },
    offeredAt: null,
    lease: null,
  });
  expect(toTask(old, [], () => undefined)).not.toHaveProperty("unprepared");
});

it("has the facts of a conversation whose messages were not loaded, and leaves those as they are", () => {
  const facts = toTask(shortFacts(full()), [], () => undefined);
  expect(facts.turns).toEqual(full().turns.map((one) => ({ ...one, message: "" })));
  const before = longValues(facts);
  const after = longValues(then(facts, { type: "cancelled", at: 2_000, minTtlMs: 0 }));
  expect([...before].filter(([slot, value]) => after.get(slot) !== value)).toEqual([]);
});
