import { describe, expect, it } from "vitest";
import { nextDue } from "../../src/task/due";
import { MAX_REFUSALS } from "../../src/task/questions";
import { ARGUMENTS_KEY, outstanding, type InputRequest, type Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";

const request = (message: string): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "form", message },
});
const missing = { authorKey: ARGUMENTS_KEY, occurrence: 1, request: request("What is b?"), deadline: 50_000 };
const born = (over = {}) => createTask(draft({ arguments: '{"a":1,"b":1}', missing, ...over }));
const answered = (answer: string, key = ARGUMENTS_KEY): TaskEvent => ({
  type: "answered",
  at: 2_000,
  answers: { [key]: answer },
  refused: {},
});
const refused = (key: string): TaskEvent => ({
  type: "answered",
  at: 2_000,
  answers: {},
  refused: { [key]: "not b." },
});
const then = (task: Task, ...events: readonly TaskEvent[]): Task =>
  events.reduce((now, happened) => transition(now, happened).task, task);

describe("a task whose arguments are asked for", () => {
  it("waits for them from its very first line on, and runs not before", () => {
    const { task, entry } = born();
    expect(task).toMatchObject({ version: 1, statusMessage: "What is b?", stage: { phase: "input_required" } });
    expect(task).not.toHaveProperty("missing");
    expect(entry).toMatchObject({ seq: 1, event: "created", phase: "input_required", keys: [ARGUMENTS_KEY] });
    expect(outstanding(task)).toMatchObject([{ key: ARGUMENTS_KEY, request: missing.request }]);
    expect(transition(task, { type: "started", at: 2_000 }).task).toBe(task);
    expect(transition(task, { type: "claimed", at: 2_000, lease: { id: "l", until: 9, worker: "w" } }).task).toBe(task);
    expect(nextDue(task)).toBe(50_000);
  });

  it("has a status line that is no longer than any other", () => {
    const long = { ...missing, request: request("b".repeat(5_000)) };
    const { task, entry } = born({ missing: long });
    expect(task.statusMessage).toHaveLength(1_000);
    expect(entry.statusMessage).toBe(task.statusMessage);
  });

  it("lays the answer over the arguments that were given, and may run", () => {
    const content = '{"b":2,"__proto__":{"c":3}}';
    const { task, entry } = transition(born().task, answered(`{"action":"accept","content":${content}}`));
    expect(task.arguments).toBe('{"a":1,"b":2,"__proto__":{"c":3}}');
    expect(task.stage).toEqual({ phase: "working", activity: { kind: "due" } });
    expect(entry).toMatchObject({ event: "answered", keys: [ARGUMENTS_KEY] });
    expect(then(task, { type: "started", at: 3_000 }).startedAt).toBe(3_000);
  });

  it("runs with what it has when the answer adds nothing", () => {
    expect(then(born().task, answered('{"action":"accept"}'))).toMatchObject({
      arguments: '{"a":1,"b":1}',
      stage: { phase: "working" },
    });
  });

  it.each(["decline", "cancel"])("is rejected when whoever was asked says %s", (action) => {
    const { task, entry } = transition(born().task, answered(JSON.stringify({ action })));
    expect(task.stage).toMatchObject({ phase: "settled", outcome: { kind: "rejected" } });
    expect(task.statusMessage).toBe("The arguments that were asked for were not given.");
    expect(task.startedAt).toBeNull();
    expect(entry).toMatchObject({ event: "answered", keys: [ARGUMENTS_KEY] });
  });

  it("is rejected when nobody answers in time, and expires where its ttl ends first", () => {
    const { task } = born();
    expect(then(task, { type: "questions_lapsed", at: 49_999 })).toBe(task);
    expect(then(task, { type: "questions_lapsed", at: 50_000 }).stage).toMatchObject({ outcome: { kind: "rejected" } });
    expect(then(task, { type: "questions_lapsed", at: 101_000 }).stage).toMatchObject({ outcome: { kind: "expired" } });
    expect(then(task, { type: "cancelled", at: 2_000, minTtlMs: 0 }).stage).toMatchObject({
      outcome: { kind: "cancelled" },
    });
  });

  it("asks again after an answer of no use, and takes the next; in the end it gives up", () => {
    const again = then(born().task, refused(ARGUMENTS_KEY));
    const key = `${ARGUMENTS_KEY}-2`;
    expect(outstanding(again).map((question) => question.key)).toEqual([key]);
    expect(then(again, answered('{"action":"accept","content":{"b":2}}', key)).arguments).toBe('{"a":1,"b":2}');
    let task = born().task;
    for (let n = 0; n <= MAX_REFUSALS; n += 1) task = then(task, refused(outstanding(task)[0]?.key ?? ""));
    expect(task.stage).toMatchObject({ phase: "settled", outcome: { kind: "rejected" } });
  });

  it("keeps what came with the answer, also where that was no", () => {
    const turn = { id: "m", digest: "d", at: 2_000, message: "No." };
    const said = { ...answered('{"action":"decline"}'), turn } as TaskEvent;
    expect(then(born().task, said)).toMatchObject({ turns: [turn], stage: { phase: "settled" } });
  });
});

describe("a question of the tool's own", () => {
  it("of the same key is not taken for that", () => {
    const own = { ...missing, occurrence: 2, request: request("Which?") };
    const asked: TaskEvent = { type: "asked", at: 3_000, questions: [own], sleeps: [], ttlMs: 100_000 };
    const yes = answered('{"action":"accept","content":{"b":2}}');
    const waiting = then(born().task, yes, { type: "started", at: 2_500 }, asked);
    const key = `${ARGUMENTS_KEY}-2`;
    const declined = then(waiting, { ...answered('{"action":"decline"}', key), at: 4_000 } as TaskEvent);
    expect(declined).toMatchObject({ arguments: '{"a":1,"b":2}', stage: { phase: "working" } });
    const accepted = then(waiting, answered('{"action":"accept","content":{"b":9}}', key));
    expect(accepted.arguments).toBe('{"a":1,"b":2}');
  });

  it("is not either in a task that lacked nothing", () => {
    const task = then(
      createTask(draft({ arguments: '{"a":1}' })).task,
      { type: "started", at: 1_500 },
      { type: "asked", at: 1_600, questions: [missing], sleeps: [], ttlMs: 100_000 },
      answered('{"action":"decline"}'),
    );
    expect(task).toMatchObject({ arguments: '{"a":1}', stage: { phase: "working" } });
  });
});
