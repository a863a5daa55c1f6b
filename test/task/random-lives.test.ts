import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextDue } from "../../src/task/due";
import { MAX_PUSH_TARGETS } from "../../src/task/push";
import { ARGUMENTS_KEY, expiresAt, outstanding, type LogEntry, type Task, type TaskDraft } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";
import { form, life } from "./random-event";

const born = (over = {}) => createTask(draft(over)).task;
const nothingYet = () => ({ cursor: 0, failures: 0, retryAt: null, dead: [] });

/** A plain one, and one whose arguments have to be asked for, of which somebody wants to hear. */
const births: readonly Partial<TaskDraft>[] = [
  {},
  {
    arguments: '{"a":1,"b":1}',
    missing: { authorKey: ARGUMENTS_KEY, occurrence: 1, request: form("What is b?"), deadline: 90_000 },
    push: [{ id: "p0", url: "https://a.example/", token: null, authentication: null, wire: "w", ...nothingYet() }],
  },
];

/** Applies events to each and hands every step to the check. */
function live(
  events: readonly TaskEvent[],
  check: (before: Task, event: TaskEvent, after: ReturnType<typeof transition>) => void,
): readonly Task[] {
  return births.map((birth) => {
    let task = born(birth);
    for (const happened of events) {
      const after = transition(task, happened);
      check(task, happened, after);
      task = after.task;
    }
    return task;
  });
}

const isRunning = (one: Task) => one.stage.phase === "working" && one.stage.activity.kind === "running";

describe("transition, over random lives", () => {
  it("answers a non-event with the same reference and no entry, and any other with the next version, unless nobody sees it", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, happened, { task, entry }) => {
          if (task === before) return expect(entry).toBeNull();
          if (!happened.type.startsWith("push")) return expect(task.version).toBe(before.version + 1);
          expect(entry).toBeNull();
          expect({ ...task, push: before.push }).toEqual(before);
        });
      }),
    );
  });

  it("is final once settled, whoever is told of it then", () => {
    fc.assert(
      fc.property(life, life, (events, more) => {
        for (const alive of live(events, () => {})) {
          const settled = transition(alive, { type: "cancelled", at: 0, minTtlMs: 0 }).task;
          expect(settled.stage.phase).toBe("settled");
          for (const late of more) {
            const { task, entry } = transition(settled, late);
            expect(entry).toBeNull();
            if (!late.type.startsWith("push")) expect(task).toBe(settled);
            else expect({ ...task, push: settled.push }).toEqual(settled);
          }
        }
      }),
    );
  });

  it("takes a repeated event as a non-event", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (_, happened, { task }) => {
          // A refusal asks anew, and these random answers may name the new key before it exists; a message says which it is.
          const guesses = happened.type === "answered" && !happened.turn && Object.keys(happened.refused).length > 0;
          if (!guesses) expect(transition(task, happened).task).toBe(task);
        });
      }),
    );
  });

  it("logs every accepted event once, with gapless seq and times that never go back", () => {
    fc.assert(
      fc.property(life, (events) => {
        const logs: LogEntry[][] = [];
        live(events, (before, happened, { task, entry }) => {
          const logged = entry === null ? [] : [entry];
          expect(logged.length).toBe(task.version - before.version);
          const isOver = before.ttlMs !== null && happened.at >= before.createdAt + before.ttlMs;
          const isSaid = happened.type === "answered" && task.questions === before.questions;
          const event = isOver ? "expired" : isSaid ? "said" : happened.type;
          for (const entry of logged)
            expect(entry).toMatchObject({ event, seq: task.version, phase: task.stage.phase });
          if (before.version === 1) logs.push([]);
          logs.at(-1)?.push(...logged);
          expect(task.updatedAt).toBeGreaterThanOrEqual(before.updatedAt);
          expect(task.statusAt).toBeGreaterThanOrEqual(before.statusAt);
          expect(task.statusAt).toBeLessThanOrEqual(task.updatedAt);
        });
        for (const entries of logs) {
          entries.forEach((entry, n) => expect(entry.seq).toBe(n + 2));
          entries.slice(1).forEach((entry, n) => expect(entry.at).toBeGreaterThanOrEqual((entries[n] as LogEntry).at));
        }
      }),
    );
  });

  it("never uses a wire key twice, nor changes what stands under it, nor opens it again", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, _, { task }) => {
          const wire = task.questions.map(({ key }) => key);
          expect(new Set(wire).size).toBe(wire.length);
          before.questions.forEach((question, n) => {
            const now = task.questions[n];
            expect(now).toMatchObject({ key: question.key, authorKey: question.authorKey, request: question.request });
            if (question.state.kind !== "open") expect(now).toBe(question);
          });
          for (const { authorKey } of task.questions) {
            const first = task.questions.find((asked) => asked.authorKey === authorKey);
            const taken = task.questions.slice(0, task.questions.indexOf(first!)).some(({ key }) => key === authorKey);
            if (!taken) expect(first?.key).toBe(authorKey);
          }
        });
      }),
    );
  });

  it("waits for input exactly while a question is open, and begins to run only when it is started", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, happened, { task }) => {
          if (task.stage.phase !== "settled")
            expect(task.stage.phase === "input_required").toBe(outstanding(task).length > 0);
          if (isRunning(task) && !isRunning(before)) expect(happened.type).toBe("started");
          const due = nextDue({ ...task, push: [] });
          if (task.stage.phase === "settled") expect(due).toBeNull();
          else expect(due).toBeLessThanOrEqual(expiresAt(task, 0) as number);
          if (isRunning(task)) expect(due).toBe(expiresAt(task, 0));
        });
      }),
    );
  });

  it("never runs without the arguments that were asked for, and takes no later answer for them", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, _, { task }) => {
          const [asked] = task.questions;
          if (asked?.authorKey !== ARGUMENTS_KEY || asked.askedAt !== task.createdAt) {
            return expect(task.arguments).toBe(before.arguments);
          }
          if (before.startedAt !== null) expect(task.arguments).toBe(before.arguments);
          if (task.startedAt !== null) expect(JSON.parse(task.arguments)).toEqual({ a: 1, b: 2 });
          if (task.stage.phase === "settled" && task.stage.outcome.kind === "rejected") {
            expect(task).toMatchObject({ startedAt: null, arguments: '{"a":1,"b":1}' });
          }
        });
      }),
    );
  });

  it("keeps what was said in order, each message once, and tells no push target what has not happened", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, _, { task }) => {
          expect(task.turns.slice(0, before.turns.length)).toEqual(before.turns);
          const said = task.turns.map(({ id, digest }) => `${id} ${digest}`);
          expect(new Set(said).size).toBe(said.length);
          expect(task.push.length).toBeLessThanOrEqual(MAX_PUSH_TARGETS);
          expect(new Set(task.push.map(({ id }) => id)).size).toBe(task.push.length);
          for (const target of task.push) {
            expect(target.cursor).toBeLessThanOrEqual(task.version);
            const known = before.push.find(({ id }) => id === target.id);
            if (known) expect(target.cursor).toBeGreaterThanOrEqual(known.cursor);
          }
        });
      }),
    );
  });

  it("keeps what was stored: steps, sleeps and answers do not change once they are there", () => {
    fc.assert(
      fc.property(life, (events) => {
        live(events, (before, _, { task }) => {
          for (const [key, value] of before.steps) expect(task.steps.get(key)).toBe(value);
          before.sleeps.forEach((until, n) => expect(task.sleeps[n]).toBe(until));
        });
      }),
    );
  });
});
