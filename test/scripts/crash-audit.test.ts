import { describe, expect, it } from "vitest";
import { atAnyInstant, atRest } from "../../scripts/crash/audit/audits";
import type { Audit } from "../../scripts/crash/audit/evidence";
import { nothing } from "../../scripts/crash/audit/nothing";
import { AT, INDEX, logOf, OWNER, scene, settled, working, type Event, type Scene } from "./crash-evidence";

const DAY = 86_400_000;

/** What the audits find, each once. */
const found = ({ evidence }: Scene, audits: readonly Audit[] = atAnyInstant): readonly string[] => [
  ...new Set(audits.flatMap((audit) => audit(evidence())).map(({ about, says }) => `${about}: ${says}`)),
];

/** Breaks one thing, and has it found. */
function broken(change: (scene: Scene) => void, audits?: readonly Audit[]): string {
  const broken = scene();
  change(broken);
  return found(broken, audits).join("\n");
}

const ended = ({ tasks }: Scene) => tasks.get("ended")!;
const sleeping = ({ tasks }: Scene) => tasks.get("sleeping")!;
const rowOf = ({ rows }: Scene, id: string) => rows.find((row) => row.id === id)!;

describe("an audit at any instant", () => {
  it("finds nothing where nothing is wrong", () => {
    expect(found(scene())).toEqual([]);
  });

  it("finds a task that was acknowledged and is not there, unless it has expired", () => {
    const lose = (it: Scene) => void it.tasks.delete("sleeping");
    expect(broken(lose)).toContain("acknowledged is kept: The task sleeping was acknowledged over a door");
    expect(broken((it) => (lose(it), (it.now = AT + DAY)))).not.toContain("acknowledged is kept");
  });

  it("finds an outcome that is not the one a client was told", () => {
    const cancelled = { phase: "settled", outcome: { kind: "cancelled" }, settledAt: AT } as const;
    expect(broken((it) => (ended(it).facts = { ...ended(it).facts, stage: cancelled }))).toContain(
      "one outcome: The task ended was seen to end as",
    );
    const running = { phase: "working", activity: { kind: "due" } } as const;
    expect(broken((it) => (ended(it).facts = { ...ended(it).facts, stage: running }))).toContain(
      "one outcome: The task ended was seen settled, and is stored working.",
    );
  });

  it("finds a task that ended twice, went on after its end, or did not begin", () => {
    const log = (...entries: readonly Event[]) => broken((it) => (ended(it).log = logOf(...entries)));
    expect(log(["created", "submitted"], ["settled", "settled"], ["cancelled", "settled"])).toContain(
      "one end: The task ended is settled, and its log has 2 ends: settled (2), cancelled (3).",
    );
    expect(log(["created", "submitted"], ["settled", "settled"], ["started", "working"])).toContain(
      "goes on after its end",
    );
    expect(log(["started", "working"], ["settled", "settled"])).toContain("does not begin with its creation");
    expect(log(["created", "submitted"], ["started", "working"])).toContain("its log has 0 ends");
    expect(broken((it) => (sleeping(it).log = sleeping(it).log.toReversed()))).toContain("is out of order: 3 2 1");
  });

  it("finds a step that changed, is stored twice, or was never stored", () => {
    const stored = (it: Scene, ...rows: readonly string[]) => {
      ended(it).values = new Map([...ended(it).values, ['["step","one"]', rows]]);
    };
    expect(broken((it) => stored(it, '"second"'))).toContain(
      "steps are kept: The step one of ended was told to be first, and second is stored.",
    );
    expect(broken((it) => stored(it, '"second"'))).toContain(
      "The step one of ended ended as first, and second is stored.",
    );
    expect(broken((it) => stored(it, '"first"', '"first"'))).toContain("The step one of ended is stored 2 times.");
    const forget = (it: Scene) =>
      void (ended(it).values = new Map([...ended(it).values].filter(([slot]) => !slot.includes("step"))));
    expect(broken(forget)).toContain("The task ended reports 1 steps, and 0 are stored.");
    expect(broken(forget)).toContain("one end: The task ended has 0 steps, and its log 1.");
  });

  it("finds that what was stored has changed since it was last looked at", () => {
    const grown = (it: Scene) => {
      const { facts, log } = sleeping(it);
      sleeping(it).facts = { ...facts, version: 4 };
      sleeping(it).log = [...log, ...logOf(["started", "working"]).map((entry) => ({ ...entry, seq: 4 }))];
    };
    expect(broken(grown)).toBe("");
    expect(broken((it) => void it.tasks.delete("sleeping"))).toContain(
      "what is stored stays: The task sleeping was stored, has not expired, and is gone.",
    );
    expect(broken((it) => (it.tasks.delete("sleeping"), (it.now = AT + DAY)))).not.toContain("what is stored stays");
    const changed = (it: Scene, slot: string, text: string) =>
      void (ended(it).values = new Map([...ended(it).values, [slot, [text]]]));
    expect(broken((it) => changed(it, '["step","one"]', '"second"'))).toContain(
      'The step one of ended was stored as "first", and is "second" now.',
    );
    expect(broken((it) => changed(it, '["outcome"]', "{}"))).toContain("The task ended had ended as");
    expect(broken((it) => (sleeping(it).log = sleeping(it).log.slice(1)))).toContain(
      "The log of sleeping was rewritten",
    );
  });

  it("finds an acknowledged answer that does not count, and one that nobody sent", () => {
    const stored = (it: Scene, answer: string) => {
      ended(it).values = new Map([...ended(it).values, ['["answer","sure"]', [answer]]]);
    };
    expect(broken((it) => stored(it, '{"action":"cancel"}'))).toContain(
      'answers count: An answer to sure of ended was acknowledged, and {"action":"cancel"} is stored',
    );
    expect(broken((it) => it.journal.answering("sleeping", "sure", "{}"))).toContain(
      "The task sleeping was answered sure, and never asked it.",
    );
  });

  it("finds two tasks of one call, a task of no call, and another task than was told", () => {
    expect(broken((it) => void it.tasks.set("twin", { ...ended(it), id: "twin" }))).toContain(
      "one key, one task: The errand note of ended became 2 tasks: ended, twin.",
    );
    expect(broken((it) => void it.journal.notes.delete("note of ended"))).toContain("Nobody ever called for ended.");
    expect(broken((it) => void it.journal.tasksByNote.set("note of ended", "other"))).toContain(
      "became the task other, and the task ended is stored for it",
    );
  });

  it("finds a task that nothing will set going", () => {
    expect(broken((it) => ((sleeping(it).alarm = null), (rowOf(it, "sleeping").due = null)))).toContain(
      "none stuck: Nothing will ever set the task sleeping going again",
    );
    expect(broken((it) => (rowOf(it, "sleeping").due = null))).toContain(
      "No sweep will ever look at the task sleeping",
    );
  });

  it("finds a task without a row, with two, or with one that knows more than is so", () => {
    expect(broken((it) => void it.rows.pop())).toContain(
      "a row to each task: The task sleeping has no row in any index.",
    );
    expect(broken((it) => void it.rows.push(rowOf(it, "ended")))).toContain("The task ended has 2 rows.");
    expect(broken((it) => (rowOf(it, "ended").version = 7))).toContain("The row of ended is at version 7");
  });

  it("finds counters that are not the number of rows", () => {
    expect(broken((it) => (it.tally.stored = 3))).toContain("caps are exact: The index");
    expect(broken((it) => (it.tally.live = 0))).toContain("counts 0 live tasks, and 1 of its rows are.");
  });

  it("finds an index that the cron does not find, or finds too late", () => {
    expect(broken((it) => void it.directory.delete(INDEX))).toContain(
      "the cron finds all: The directory does not know of",
    );
    expect(broken((it) => void it.directory.set(INDEX, AT + 60_001))).toContain("is due at 1060000 already");
  });

  it("leaves alone what is behind for now: rows without a task, and rows of records", () => {
    const orphan = (it: Scene, mark: string | null) => {
      it.rows.push({ ...rowOf(it, "ended"), id: "orphan", mark });
      it.tally.stored += 1;
    };
    expect(broken((it) => orphan(it, null))).toBe("");
    expect(broken((it) => orphan(it, "a record"), atRest)).not.toContain("The row orphan");
  });
});

describe("an audit at rest", () => {
  /** Nothing sleeps any more. */
  const rested = (it: Scene): Scene => {
    for (const tasks of [it.tasks, it.before.tasks, it.journal.tasks]) tasks.delete("sleeping");
    it.rows.pop();
    Object.assign(it.tally, { stored: 1, live: 0 });
    return it;
  };
  const atRestBroken = (change: (scene: Scene) => void): string => broken((it) => change(rested(it)), atRest);

  it("finds nothing where nothing is wrong", () => {
    expect(atRestBroken(() => {})).toBe("");
  });

  it("finds a task that never ends", () => {
    expect(broken(() => {}, atRest)).toContain("none stuck: The task sleeping never ends: its stage is");
  });

  it("finds a row without a task, a reservation, and a row that is behind", () => {
    const orphan = (version: number) => (it: Scene) => {
      it.rows.push({ ...rowOf(it, "ended"), id: "orphan", version });
      it.tally.stored += 1;
    };
    expect(atRestBroken(orphan(3))).toContain("a task to each row: The row orphan (version 3, settled) has no task.");
    expect(atRestBroken(orphan(0))).toContain("The reservation orphan was never made good, and is still there.");
    expect(atRestBroken((it) => (rowOf(it, "ended").version = 5))).toContain(
      "says settled at version 5; the task is settled at 6",
    );
  });

  it("finds what has expired and is still there, and remains of it", () => {
    expect(atRestBroken((it) => (it.now = AT + DAY))).toContain(
      "expired is collected: The task ended expired 0 ms ago",
    );
    expect(atRestBroken((it) => void it.remains.push("object"))).toContain("holds remains of a task, but no task");
  });

  it("finds that more tasks lived at a time than may", () => {
    expect(atRestBroken((it) => (it.maxLive = 0))).toContain(
      `caps are exact: Of ${OWNER} 1 tasks lived at a time, and 0 may.`,
    );
  });

  it("finds whatever is left when everything has expired", () => {
    expect(broken(() => {}, [nothing]).split("\n")).toHaveLength(4);
    const empty = scene();
    empty.tasks.clear();
    empty.rows.splice(0);
    empty.directory.clear();
    Object.assign(empty.tally, { stored: 0, live: 0 });
    expect(found(empty, [nothing])).toEqual([]);
    empty.remains.push("object");
    expect(found(empty, [nothing])).toEqual(["nothing stays behind: The object object holds remains of a task."]);
  });
});

describe("the journal", () => {
  const says = (change: (it: Scene) => void): readonly string[] => {
    const it = scene();
    change(it);
    return it.journal.findings.map(({ about, says }) => `${about}: ${says}`);
  };
  const later = { ...working, sent: Infinity };

  it("holds a settled task to every byte that was seen of it, view by view", () => {
    expect(says(({ journal }) => journal.saw("ended", settled))).toEqual([]);
    expect(says(({ journal }) => journal.saw("ended", { ...settled, view: "another", text: "other" }))).toEqual([]);
    expect(says(({ journal }) => journal.saw("ended", { ...settled, text: "settles" }))).toEqual([
      'settled is final: The settled task ended read differently in a view: first "settled", then "settles".',
    ]);
  });

  it("holds a settled task to having ended, but knows that an answer may have been on its way before", () => {
    expect(says(({ journal }) => journal.saw("ended", later))).toEqual([
      "settled is final: The task ended was settled, and then a view showed it working.",
    ]);
    expect(says(({ journal }) => journal.saw("ended", working))).toEqual([]);
  });

  it("holds a cancelled task to having been cancelled", () => {
    const cancel = ({ journal }: Scene) => journal.cancelled("sleeping");
    expect(says((it) => (cancel(it), it.journal.saw("sleeping", later)))).toEqual([
      "cancelled is final: The cancellation of sleeping was acknowledged, and then a view showed it working.",
    ]);
    expect(says((it) => (cancel(it), it.journal.saw("sleeping", working)))).toEqual([]);
  });

  it("holds a task to one outcome over all views, and a step to what it recorded", () => {
    const outcome = { kind: "error", report: "no" } as const;
    expect(says(({ journal }) => journal.saw("ended", { ...settled, view: "another", outcome }))[0]).toContain(
      "one outcome: The task ended ended as",
    );
    expect(says(({ journal }) => journal.saw("ended", { ...working, steps: { one: "second" } }))).toEqual([
      "steps are kept: The step one of the task ended recorded first, and then second.",
    ]);
  });

  it("holds the server to the tasks it acknowledged, until they expire, and each call to one task", () => {
    expect(says(({ journal }) => journal.missing("sleeping", "a view", AT + DAY - 1))).toEqual([
      "acknowledged is kept: The task sleeping was acknowledged over a door, and a view does not find it.",
    ]);
    expect(says(({ journal }) => journal.missing("sleeping", "a view", AT + DAY))).toEqual([]);
    const again = { door: "a door", owner: OWNER, note: "note of ended" } as const;
    expect(says(({ journal }) => void journal.acknowledged("ended", again))).toEqual([]);
    expect(says(({ journal }) => void journal.acknowledged("other", again))).toEqual([
      "one key, one task: The errand note of ended became the task ended, and then the task other.",
    ]);
  });
});
