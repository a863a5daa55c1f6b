// What may happen to a task, in any order and at any time.
import fc from "fast-check";
import { MAX_PUSH_TARGETS } from "../../src/task/push";
import { ARGUMENTS_KEY } from "../../src/task/task";
import type { TaskEvent } from "../../src/task/transition";

const result = { kind: "result", result: '{"content":[]}', isError: false } as const;
const giveUp = { kind: "error", error: { code: -32603, message: "It failed." } } as const;
export const form = (message: string) =>
  ({ method: "elicitation/create", params: { mode: "form", message, requestedSchema: { type: "object" } } }) as const;

const question = fc.record({
  authorKey: fc.constantFrom("confirm", "confirm-2", "name", "__proto__", ARGUMENTS_KEY),
  occurrence: fc.integer({ min: 1, max: 3 }),
  request: fc.constantFrom("Sure?", "Really?").map(form),
  deadline: fc.integer({ min: 0, max: 200_000 }),
});

const keys = fc.constantFrom(
  "confirm",
  "confirm-2",
  "confirm-3",
  "name",
  "name-2",
  "__proto__",
  "nobody",
  ARGUMENTS_KEY,
  `${ARGUMENTS_KEY}-2`,
);
const at = fc.integer({ min: 0, max: 150_000 });
const minTtlMs = fc.constant(5_000);
const slept = fc.record({ ordinal: fc.integer({ min: 0, max: 3 }), until: at });
const turn = fc.record({
  id: fc.constantFrom("m1", "m2", "m3"),
  digest: fc.constantFrom("d", "e"),
  at,
  message: fc.constantFrom("one", "two"),
});
const target = fc.record({
  id: fc.constantFrom(...Array.from({ length: MAX_PUSH_TARGETS + 2 }, (_, n) => `p${n}`)),
  url: fc.constantFrom("https://a.example/", "https://b.example/"),
  token: fc.constant(null),
  authentication: fc.option(fc.record({ scheme: fc.constant("Bearer"), credentials: fc.constantFrom("x", "y") })),
  wire: fc.constant("a2a/1.0"),
});
const told = { id: fc.constantFrom("p0", "p1", "p2"), seq: fc.integer({ min: 0, max: 40 }) };

const ACCEPT = '{"action":"accept","content":{"b":2}}';

const event: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.record({ type: fc.constant("started" as const), at }),
  fc.record({ type: fc.constant("restarted" as const), at, retryAt: at, maxRestarts: fc.constant(2), minTtlMs }),
  fc.record({
    type: fc.constant("progressed" as const),
    at,
    progress: fc.record({ progress: fc.integer({ min: 0, max: 3 }) }),
  }),
  fc.record({
    type: fc.constant("stepped" as const),
    at,
    key: fc.constantFrom("a", "b", "__proto__"),
    value: fc.constantFrom("1", "2"),
  }),
  fc.record({
    type: fc.constant("asked" as const),
    at,
    questions: fc.array(question, { maxLength: 3 }),
    sleeps: fc.array(slept, { maxLength: 2 }),
    ttlMs: fc.constant(100_000),
  }),
  fc.record({
    type: fc.constant("slept" as const),
    at,
    sleeps: fc.array(slept, { maxLength: 2 }),
    ttlMs: fc.constant(100_000),
  }),
  fc.record(
    {
      type: fc.constant("answered" as const),
      at,
      answers: fc.dictionary(keys, fc.constantFrom('{"action":"decline"}', ACCEPT, ACCEPT)),
      refused: fc.dictionary(keys, fc.constant("v must be text.")),
      turn: turn,
    },
    { requiredKeys: ["type", "at", "answers", "refused"] },
  ),
  fc.record({ type: fc.constant("said" as const), at, turn, statusMessage: fc.constantFrom(null, "Say more.") }),
  fc.record({ type: fc.constant("push_set" as const), at, target }),
  fc.record({ type: fc.constant("push_removed" as const), at, id: told.id }),
  fc.record({ type: fc.constant("pushed" as const), at, ...told }),
  fc.record({
    type: fc.constant("push_failed" as const),
    at,
    ...told,
    retryAt: fc.option(at),
    reason: fc.constant("No answer."),
  }),
  fc.record({ type: fc.constant("questions_lapsed" as const), at }),
  fc.record({
    type: fc.constant("attempt_failed" as const),
    at,
    retryAt: fc.option(at),
    statusMessage: fc.constant("No."),
    giveUp: fc.constant(giveUp),
    minTtlMs,
  }),
  fc.record({
    type: fc.constant("settled" as const),
    at,
    outcome: fc.constant(result),
    statusMessage: fc.constant(null),
    minTtlMs,
  }),
  fc.record({ type: fc.constant("cancelled" as const), at, minTtlMs }),
  fc.record({ type: fc.constant("expired" as const), at }),
);

/** Long lives: the events that end a task are rare. */
export const life = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: event.filter(({ type }) => !["settled", "cancelled", "expired"].includes(type)) },
    { weight: 1, arbitrary: event },
    { weight: 5, arbitrary: at.map((time): TaskEvent => ({ type: "started", at: time })) },
  ),
  { maxLength: 60 },
);
