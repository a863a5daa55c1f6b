import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { sqlShelf } from "../../durable-objects/task-shelf";
import { LOG_LIMIT, type TaskShelf } from "../../src/service/task-shelf";
import type { LogEntry, Task } from "../../src/task/task";
import { createTask } from "../../src/task/transition";
import { draft } from "../support/task";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";

const LATER = 4_000_000_000_000;

/** Text that is not well-formed, so that no encoding may be assumed. */
const ODD = "\ufeff\ud800 \udc00\u0000\r\n\u2028😀";

const request = {
  method: "elicitation/create",
  params: { message: ODD, requestedSchema: { type: "object" } },
} as const;

/** A task with something in every place that is kept apart. */
const full: Task = {
  ...createTask(draft({ arguments: "args", prepared: "prep", extras: "extra", owner: "o" })).task,
  statusMessage: ODD,
  questions: [
    {
      key: "a",
      authorKey: "a",
      occurrence: 1,
      request,
      askedAt: 1,
      deadline: 2,
      state: { kind: "answered", at: 3, answer: ODD },
    },
    { key: ODD, authorKey: "b", occurrence: 1, request, askedAt: 1, deadline: 2, state: { kind: "open" } },
    {
      key: "c",
      authorKey: "b",
      occurrence: 2,
      request,
      askedAt: 1,
      deadline: 2,
      state: { kind: "retired", at: 3, reason: "r" },
    },
  ],
  sleeps: [5],
  steps: new Map([
    ["z", "1"],
    ["__proto__", "2"],
    [ODD, ODD],
    ["a", "3"],
  ]),
  version: 7,
  stage: { phase: "settled", settledAt: 9, outcome: { kind: "result", result: "r".repeat(3_000_000), isError: false } },
};

const entry = (seq: number, event: LogEntry["event"] = "stepped", more: Partial<LogEntry> = {}): LogEntry => ({
  seq,
  at: seq,
  event,
  phase: "working",
  statusMessage: null,
  ...more,
});

let stub: DurableObjectStub;

beforeEach(async () => {
  await emptyDeployment();
  stub = objects.TASKS.get(objects.TASKS.newUniqueId());
});

/** Each call is a new incarnation: nothing is remembered but what is stored. */
const onShelf = <T>(use: (shelf: TaskShelf, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(stub, (_, { storage }) => use(sqlShelf(storage), storage));

const rowsOf = async (table: string) => (await storedIn(stub)).rows[table] ?? [];

describe("a task's shelf", () => {
  it("gives back what was committed, in every place and to the byte", async () => {
    await onShelf((shelf) => shelf.commit(null, full, entry(7), null));
    const loaded = await onShelf((shelf) => shelf.load());
    expect(loaded).toEqual(full);
    expect([...(loaded?.steps ?? [])]).toEqual([...full.steps]);
  });

  it.each<[string, Task["stage"]]>([
    [
      "an error with data",
      { phase: "settled", settledAt: 9, outcome: { kind: "error", error: { code: 1, message: "m", data: ODD } } },
    ],
    [
      "an error without",
      { phase: "settled", settledAt: 9, outcome: { kind: "error", error: { code: 1, message: "m" } } },
    ],
    ["a cancelled task", { phase: "settled", settledAt: 9, outcome: { kind: "cancelled" } }],
    ["an empty result", { phase: "settled", settledAt: 9, outcome: { kind: "result", result: "", isError: true } }],
    ["a sleeping task", { phase: "working", activity: { kind: "sleeping", until: 5 } }],
  ])("gives back %s", async (_, stage) => {
    const task: Task = { ...full, stage, arguments: "", prepared: null, extras: "" };
    await onShelf((shelf) => shelf.commit(null, task, entry(7), null));
    expect(await onShelf((shelf) => shelf.load())).toEqual(task);
  });

  it("stores nothing for being looked at", async () => {
    expect(await onShelf((shelf) => [shelf.load(), shelf.entries(0)])).toEqual([null, []]);
    expect(await storedIn(stub)).toEqual(NOTHING);
  });

  it("keeps every row under the platform's limit, whatever is long", async () => {
    const long: Task = {
      ...full,
      arguments: "😀".repeat(700_000),
      statusMessage: "é".repeat(1_200_000),
      steps: new Map([["s", ODD.repeat(300_000)]]),
    };
    await onShelf((shelf) =>
      shelf.commit(null, long, entry(7, "stepped", { statusMessage: long.statusMessage }), null),
    );
    const largest = await onShelf((_, { sql }) =>
      sql
        .exec<{ bytes: number }>(
          `SELECT max(bytes) AS bytes FROM (SELECT length(bytes) AS bytes FROM record UNION ALL SELECT length(bytes) FROM value
         UNION ALL SELECT length(CAST(entry AS BLOB)) FROM log)`,
        )
        .one(),
    );
    expect(largest.bytes).toBe(1_000_000);
    expect(await onShelf((shelf) => shelf.load())).toEqual(long);
  });

  it("shrinks its record again", async () => {
    await onShelf((shelf) => shelf.commit(null, { ...full, statusMessage: "x".repeat(2_500_000) }, entry(7), null));
    expect(await rowsOf("record")).toHaveLength(3);
    await onShelf((shelf) => shelf.commit(shelf.load(), full, entry(8), undefined));
    expect(await rowsOf("record")).toHaveLength(1);
    expect(await onShelf((shelf) => shelf.load())).toEqual(full);
  });

  it("writes a long value once, and only new ones later", async () => {
    await onShelf((shelf) => shelf.commit(null, full, entry(7), null));
    const before = await rowsOf("value");
    await onShelf((shelf) => {
      const loaded = shelf.load() as Task;
      shelf.commit(
        loaded,
        { ...loaded, version: 8, steps: new Map(loaded.steps).set("new", "value") },
        entry(8),
        undefined,
      );
    });
    const after = await rowsOf("value");
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ slot }) => slot)).toEqual(['["step","new"]']);
    expect((await onShelf((shelf) => shelf.load()))?.steps.get("new")).toBe("value");
  });

  it("replaces a value that changed and removes one that is gone", async () => {
    await onShelf((shelf) => shelf.commit(null, full, entry(7), null));
    const next: Task = {
      ...full,
      prepared: null,
      steps: new Map([["a", "another"]]),
      questions: full.questions.slice(1),
    };
    await onShelf((shelf) => shelf.commit(shelf.load(), next, entry(8), undefined));
    expect(await onShelf((shelf) => shelf.load())).toEqual(next);
    expect((await rowsOf("value")).map(({ slot }) => slot)).not.toContain('["prepared"]');
  });

  it("commits record, values, log and alarm together or not at all", async () => {
    await onShelf((shelf) => shelf.commit(null, full, entry(7), LATER));
    const before = await storedIn(stub);
    expect(before.alarm).toBe(LATER);
    const next = { ...full, steps: new Map([["new", "v"]]) };
    await onShelf((shelf) => {
      shelf.load();
      // The log has this seq already, so the commit fails after the values were written.
      expect(() => shelf.commit(full, next, entry(7), LATER + 1)).toThrow();
      expect(shelf.load()).toEqual(full);
    });
    expect(await storedIn(stub)).toEqual(before);
  });

  it("leaves nothing of a first commit that fails", async () => {
    await onShelf((shelf) => {
      const broken = { ...full, statusMessage: 1n as unknown as string };
      expect(() => shelf.commit(null, broken, entry(7), LATER)).toThrow();
      expect(shelf.load()).toBeNull();
      shelf.commit(null, full, entry(7), LATER);
      expect(shelf.load()).toEqual(full);
    });
    expect(await onShelf((shelf) => shelf.load())).toEqual(full);
  });

  it("sets the alarm in the platform's time, leaves it alone, and takes it away", async () => {
    const alarm = async () => (await storedIn(stub)).alarm;
    await runInDurableObject(stub, (_, { storage }) =>
      sqlShelf(storage, (at) => at + 1_000).commit(null, full, entry(7), LATER),
    );
    expect(await alarm()).toBe(LATER + 1_000);
    await onShelf((shelf) => shelf.commit(shelf.load(), full, entry(8), undefined));
    expect(await alarm()).toBe(LATER + 1_000);
    await onShelf((shelf) => shelf.commit(shelf.load(), full, entry(9), null));
    expect(await alarm()).toBeNull();
    await onShelf((shelf) => shelf.setAlarm(LATER));
    expect(await alarm()).toBe(LATER);
    await onShelf((shelf) => shelf.setAlarm(null));
    expect(await alarm()).toBeNull();
  });

  it("is left empty by clear, and can be used again in the same incarnation", async () => {
    await onShelf(async (shelf) => {
      shelf.commit(null, full, entry(7), LATER);
      expect(shelf.entries(0)).toHaveLength(1);
      await shelf.clear();
      expect([shelf.load(), shelf.entries(0)]).toEqual([null, []]);
    });
    expect(await storedIn(stub)).toEqual(NOTHING);
    await onShelf(async (shelf) => {
      shelf.commit(null, full, entry(7), LATER);
      await shelf.clear();
      shelf.commit(null, full, entry(7), null);
    });
    expect(await onShelf((shelf) => shelf.load())).toEqual(full);
  });
});

describe("a task's log", () => {
  const write = (entries: readonly LogEntry[]) =>
    onShelf((shelf) => {
      for (const [at, one] of entries.entries())
        shelf.commit(at === 0 && one.seq === 1 ? null : shelf.load(), full, one, undefined);
    });
  const seqs = (after: number) => onShelf((shelf) => shelf.entries(after).map(({ seq }) => seq));

  it("gives what came after a cursor, in order and as it was", async () => {
    const entries = [entry(1, "created"), entry(2, "asked", { keys: ["k"], statusMessage: ODD }), entry(3)];
    await write(entries);
    expect(await onShelf((shelf) => shelf.entries(0))).toEqual(entries);
    expect(await onShelf((shelf) => shelf.entries(1))).toEqual(entries.slice(1));
    expect(await seqs(3)).toEqual([]);
  });

  it("keeps of progress the newest, in its place", async () => {
    await write([
      entry(1, "created"),
      entry(2, "progressed"),
      entry(3),
      entry(4, "progressed", { progress: { progress: 1 } }),
      entry(5),
    ]);
    expect(await onShelf((shelf) => shelf.entries(0))).toMatchObject([
      { seq: 1 },
      { seq: 3 },
      { seq: 4, progress: { progress: 1 } },
      { seq: 5 },
    ]);
    expect(await seqs(4)).toEqual([5]);
  });

  it("is bounded, and progress uses up none of it", async () => {
    await write([entry(1, "created")]);
    for (let from = 2; from <= LOG_LIMIT; from += 100) {
      await write(Array.from({ length: 100 }, (_, n) => entry(from + n, n % 2 === 0 ? "progressed" : "stepped")));
    }
    expect((await seqs(0)).slice(0, 3)).toEqual([1, 3, 5]);
    const last = LOG_LIMIT + 1;
    await write(Array.from({ length: LOG_LIMIT }, (_, n) => entry(last + 1 + n)));
    expect(await rowsOf("log")).toHaveLength(LOG_LIMIT);
    expect((await seqs(last - 1))[0]).toBe(last + 1);
    expect(await seqs(2 * LOG_LIMIT)).toEqual([last + LOG_LIMIT]);
  });
});
