import { describe, expect, it } from "vitest";
import { answers } from "../../scripts/crash/audit/answers";
import { messages } from "../../scripts/crash/audit/messages";
import { endTextOf, saidIn, sawA2a, sightOfA2a } from "../../scripts/crash/load/a2a-sights";
import { messageIn, taskIn, type A2aMessage, type A2aPart, type A2aTask } from "../../scripts/crash/load/a2a-client";
import { refusal } from "../../scripts/crash/load/refusals";
import type { Sight } from "../../scripts/crash/journal";
import type { Server } from "../../scripts/crash/server";
import { AT, reportOf, scene, type Scene } from "./crash-evidence";

const FACTS = "https://holdfast.dev/a2a/task-facts/v1";
const seen = { view: "A2A 1.0", text: "", sent: 0 };
const task = (more: Partial<A2aTask> & Pick<A2aTask, "status">): A2aTask => ({ id: "ended", history: [], ...more });
const message = (...parts: readonly A2aPart[]): A2aMessage => ({ messageId: "m", parts });
const saying = (text: string): A2aMessage => message({ text });

const says = (audit: typeof messages, change: (it: Scene) => void): readonly string[] => {
  const it = scene();
  change(it);
  return [...audit(it.evidence()), ...it.journal.findings].map((finding) => finding.says);
};

describe("what A2A shows of a task", () => {
  const sight = (one: Partial<A2aTask> & Pick<A2aTask, "status">): Sight => sightOfA2a(task(one), seen);

  it("is the same in the words of both versions", () => {
    const data = { inputRequests: { sure: {} } };
    for (const state of ["TASK_STATE_INPUT_REQUIRED", "input-required"])
      expect(sight({ status: { state, message: message({ text: "Sure?" }, { data }) } })).toMatchObject({
        status: "input_required",
        open: ["sure"],
      });
    const working = sight({ status: { state: "TASK_STATE_WORKING", message: saying('{"step-1":"a"}') } });
    expect(working).toMatchObject({ status: "working", steps: { "step-1": "a" } });
    expect(sight({ status: { state: "submitted" } })).toMatchObject({ status: "working", open: [] });
  });

  it("tells how it ended, and when it may be gone", () => {
    const [artifacts, metadata] = [
      [{ parts: [{ text: "a report" }] }],
      { [FACTS]: { createdAt: new Date(AT).toISOString(), ttlMs: 5 } },
    ];
    const done = sight({ status: { state: "TASK_STATE_COMPLETED" }, artifacts, metadata });
    expect(done).toMatchObject({
      status: "settled",
      outcome: { kind: "result", report: "a report" },
      expiresAt: AT + 5,
    });
    const failed = { state: "failed", message: saying("It broke.") };
    expect(sight({ status: failed, artifacts }).outcome).toEqual({ kind: "result", report: "a report" });
    expect(sight({ status: failed }).outcome).toEqual({ kind: "error", report: "It broke." });
    expect(sight({ status: { ...failed, state: "canceled" } }).outcome).toEqual({ kind: "cancelled", report: null });
  });

  it("is one end, whether a stream told its artifacts part by part or not", () => {
    const [one, two] = [{ text: "1" }, { text: "2" }];
    const status = { state: "TASK_STATE_COMPLETED" };
    const whole = endTextOf(task({ status, artifacts: [{ parts: [one, two] }] }));
    expect(endTextOf(task({ status, artifacts: [{ parts: [one] }, { parts: [two] }] }))).toBe(whole);
    expect(endTextOf(task({ status, artifacts: [{ parts: [two, one] }] }))).not.toBe(whole);
  });

  it("is found to have changed: the state, an artifact, the task's other facts", () => {
    const ended = task({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: reportOf("ended") }] }],
    });
    const server = { now: () => AT } as Server;
    const twice = (second: A2aTask) => {
      const { journal } = scene();
      for (const one of [ended, ended, second]) sawA2a(server, one, { version: "1.0", sent: 0 }, journal);
      return journal.findings.map((finding) => finding.says).join("\n");
    };
    expect(twice(ended)).toBe("");
    expect(twice({ ...ended, metadata: { x: 1 } })).toContain("The settled task ended read differently in A2A 1.0");
    const { history: _, ...streamed } = ended;
    expect(twice(streamed)).toBe("");
    expect(twice({ ...streamed, status: { state: "TASK_STATE_FAILED" } })).toContain("in the end over A2A 1.0");
    expect(twice({ ...streamed, artifacts: [] })).toContain("in the end over A2A 1.0");
  });

  it("leaves an end by expiry to those who watched", () => {
    const { journal } = scene();
    const { history: _, ...streamed } = task({ status: { state: "TASK_STATE_FAILED", message: saying("ttl") } });
    sawA2a(
      { now: () => AT + 86_400_000 } as Server,
      { ...streamed, id: "sleeping" },
      { version: "1.0", sent: 0 },
      journal,
    );
    expect(journal.findings).toEqual([]);
    expect(journal.tasks.get("sleeping")).toMatchObject({ gone: true, settledSeen: null, outcome: null });
  });
});

describe("a message to a task", () => {
  const text = saidIn([{ text: "yes" }]);
  const turn = (it: Scene, more: Readonly<Record<string, string>>) => {
    const ended = it.tasks.get("ended")!;
    const rows = Object.entries(more).map(
      ([slot, said]) => [JSON.stringify(["turn", ...slot.split(" ")]), [said]] as const,
    );
    ended.values = new Map([...ended.values, ...rows]);
  };
  const stored = JSON.stringify(messageIn("1.0", "m", [{ text: "yes" }], "ended"));
  const sent = ({ journal }: Scene) => journal.saying("ended", "m", { text });
  const heard = (it: Scene) => (sent(it), it.journal.heard("ended", "m"));

  it("is stored once, as it was sent, if it was acknowledged", () => {
    expect(says(messages, (it) => (heard(it), turn(it, { "m digest": stored })))).toEqual([]);
    expect(says(messages, sent)).toEqual([]);
    expect(says(messages, heard)).toEqual(["The message m to ended was acknowledged, and is stored 0 times."]);
    expect(says(messages, (it) => (sent(it), turn(it, { "m digest": stored, "m other": stored })))).toEqual([
      "The message m to ended was sent, and is stored 2 times.",
    ]);
    expect(says(messages, (it) => (heard(it), turn(it, { "m digest": stored.replace("yes", "no") })))).toEqual([
      'The message m to ended was ["yes"], and is stored as ["no"].',
    ]);
  });

  it("is in the history that A2A shows of the task, from when it was acknowledged", () => {
    const read = (history: readonly string[], sentAt = Infinity) =>
      says(messages, (it) => {
        heard(it);
        turn(it, { "m digest": stored });
        const all = history.map((said) => saying(said));
        it.journal.saw("ended", {
          ...sightOfA2a(task({ status: { state: "x" }, history: all }), seen),
          status: "working",
          sent: sentAt,
        });
      }).filter((one) => one.includes("message"));
    expect(read(["yes"])).toEqual([]);
    expect(read([], 0)).toEqual([]);
    expect(read([])).toEqual(["The message m to ended is in A2A 1.0 0 times."]);
    expect(read(["yes", "yes"])).toEqual(["The message m to ended is in A2A 1.0 2 times."]);
    expect(read(["no"])).toEqual(['The message m to ended was ["yes"], and A2A 1.0 has ["no"].']);
  });

  it("may answer in words what was asked meanwhile", () => {
    const stored = '{"action":"cancel"}';
    const store = (it: Scene) =>
      void (it.tasks.get("ended")!.values = new Map([
        ...it.tasks.get("ended")!.values,
        ['["answer","sure"]', [stored]],
      ]));
    const count = (change: (it: Scene) => void) =>
      says(answers, (it) => (store(it), change(it))).filter((one) => one.includes("was acknowledged")).length;
    expect(count(() => {})).toBe(1);
    expect(count(({ journal }) => journal.saying("ended", "m", { text, answer: stored }))).toBe(0);
    expect(count(({ journal }) => journal.saying("ended", "m", { text, answer: "{}" }))).toBe(1);
  });
});

it("reads tasks out of the answers of both versions, and nothing else", () => {
  const answer = (result: object) =>
    taskIn({ kind: "answer", status: 200, headers: new Headers(), text: "", message: { result: { ...result } } });
  const status = { state: "working" };
  expect(answer({ task: { id: "a", status } })?.id).toBe("a");
  expect(answer({ id: "a", status, kind: "task" })?.id).toBe("a");
  expect(answer({ messageId: "m" })).toBeUndefined();
});

it("takes a busy server for no fault, though A2A says so on 200", () => {
  const { journal } = scene();
  const refused = (reason: string) =>
    refusal(journal, "SendMessage", {
      kind: "answer",
      status: 200,
      headers: new Headers(),
      text: JSON.stringify({ error: { code: -32603, data: [{ reason }] } }),
      message: null,
    });
  refused("OVERLOADED");
  expect(journal.findings).toEqual([]);
  refused("INTERNAL");
  expect(journal.findings).toHaveLength(1);
});
