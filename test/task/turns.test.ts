import { describe, expect, it } from "vitest";
import type { Task, Turn } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { isKnown, withTurn } from "../../src/task/turns";
import { draft } from "../support/task";

const turn = (id: string, message = "Hello.", digest = "d"): Turn => ({ id, digest, at: 1_100, message });
const many = (count: number, message?: string) => Array.from({ length: count }, (_, n) => turn(`m${n}`, message));

describe("a conversation", () => {
  it("knows a message by its name and its digest together", () => {
    const turns = [turn("m", "Hello.", "d")];
    expect(isKnown(turns, turn("m", "Hello.", "d"))).toBe(true);
    expect(isKnown(turns, turn("m", "Hello!", "e"))).toBe(false);
    expect(isKnown(turns, turn("n", "Hello.", "d"))).toBe(false);
  });

  it("keeps the newest hundred, in order", () => {
    const turns = many(250).reduce<readonly Turn[]>(withTurn, []);
    expect(turns.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, n) => `m${n + 150}`));
  });

  it("keeps as many of the newest as hold four million characters, and the newest whatever its length", () => {
    const long = "x".repeat(1_000_000);
    const turns = many(6, long).reduce<readonly Turn[]>(withTurn, []);
    expect(turns.map(({ id }) => id)).toEqual(["m2", "m3", "m4", "m5"]);
    const longest = turn("longest", "x".repeat(4_000_001));
    expect(withTurn(turns, longest)).toEqual([longest]);
    expect(withTurn([longest], turn("next")).map(({ id }) => id)).toEqual(["next"]);
  });
});

const form = { method: "elicitation/create", params: { mode: "form", message: "Sure?" } } as const;
const asking = (authorKey: string, at: number): TaskEvent => ({
  type: "asked",
  at,
  questions: [{ authorKey, occurrence: 1, request: form, deadline: 90_000 }],
  sleeps: [],
  ttlMs: 100_000,
});
const answering = (key: string, by: Turn): TaskEvent => ({
  type: "answered",
  at: 1_300,
  answers: { [key]: '{"action":"accept"}' },
  refused: {},
  turn: by,
});
const saying = (by: Turn, statusMessage: string | null = null, at = 1_300): TaskEvent => ({
  type: "said",
  at,
  turn: by,
  statusMessage,
});
const after = (...events: readonly TaskEvent[]): Task =>
  events.reduce((task, happened) => transition(task, happened).task, createTask(draft()).task);
const waiting = () => after({ type: "started", at: 1_100 }, asking("k", 1_200));

describe("what a client says on the way", () => {
  it("is kept with the answers it brought, and answers nothing when it comes again", () => {
    const first = turn("m1");
    const { task, entry } = transition(waiting(), answering("k", first));
    expect(task).toMatchObject({ turns: [first], stage: { activity: { kind: "due" } } });
    expect(entry).toMatchObject({ event: "answered", keys: ["k"] });
    const next = [{ type: "started", at: 1_400 } as const, asking("l", 1_500)];
    const asked = next.reduce<Task>((now, happened) => transition(now, happened).task, task);
    // The client lost the reply to its first message: the second question is not its to answer.
    expect(transition(asked, answering("l", first)).task).toBe(asked);
    expect(transition(asked, answering("l", turn("m2"))).task.stage).toMatchObject({ activity: { kind: "due" } });
  });

  it("is kept as said when it answers nothing that is open", () => {
    const { task, entry } = transition(waiting(), answering("nobody", turn("m1")));
    expect(task).toMatchObject({ turns: [{ id: "m1" }], statusMessage: "Sure?", stage: { phase: "input_required" } });
    expect(entry).toMatchObject({ event: "said", seq: task.version });
  });

  it("changes the status line only where there is something to tell, and its question not at all", () => {
    const task = waiting();
    const said = transition(task, saying(turn("m1"), "Say yes or no.")).task;
    expect(said).toMatchObject({ statusMessage: "Say yes or no.", statusAt: task.statusAt, updatedAt: 1_300 });
    expect(said.questions).toBe(task.questions);
    expect(transition(said, saying(turn("m2"))).task.statusMessage).toBe("Say yes or no.");
    expect(transition(said, saying(turn("m1"), "Say more.")).task).toBe(said);
    expect(transition(task, saying(turn("m1"), "x".repeat(2_000))).task.statusMessage).toHaveLength(1_000);
  });

  it("explains nothing to a task that goes on already, since somebody else has answered", () => {
    const working = after({ type: "started", at: 1_100 });
    expect(transition(working, saying(turn("m1"), "Say yes or no.")).task).toMatchObject({
      statusMessage: null,
      turns: [{ id: "m1" }],
    });
  });

  it("leaves a run alone", () => {
    const running = after({ type: "started", at: 1_100 });
    const { task, entry } = transition(running, saying(turn("m1")));
    expect(task.stage).toBe(running.stage);
    expect(entry).toMatchObject({ event: "said" });
  });

  it("comes too late for a task that has settled, or whose ttl is over", () => {
    const settled = transition(waiting(), { type: "cancelled", at: 1_300, minTtlMs: 0 }).task;
    expect(transition(settled, saying(turn("m1"))).task).toBe(settled);
    expect(transition(settled, answering("k", turn("m1"))).task).toBe(settled);
    const expired = transition(waiting(), saying(turn("m1"), null, 101_000)).task;
    expect(expired).toMatchObject({ turns: [], stage: { outcome: { kind: "expired" } } });
  });
});
