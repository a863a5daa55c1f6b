// What only the D1 store has: isolates that know nothing of each other, and a bill for every row that is read.
import { reset } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { Carrying } from "../../src/d1/carrying";
import { D1Tasks } from "../../src/d1/d1-tasks";
import { d1Records } from "../../src/d1/d1-records";
import { d1Store } from "../../src/d1/d1-store";
import { migrate } from "../../src/d1/migrate";
import { recordSchema, recordSql } from "../../src/d1/record-sql";
import { taskSchema, taskSql } from "../../src/d1/task-sql";
import type { Limits } from "../../src/service/limits";
import type { PassiveTaskStore, TaskFeedMessage } from "../../src/service/task-store";
import type { Standing } from "../../src/task/standing";
import type { TaskDraft } from "../../src/task/task";
import type { TaskEvent } from "../../src/task/transition";
import { NAMESPACES } from "../kit/memory-subject";
import { limits as defaults, movableClock } from "../support/memory";
import { draft } from "../support/task";
import { objects } from "./d1";
import { accept } from "./tools";

const HOUR = 3_600_000;
const db = objects.DB;

/** An empty database, and as many isolates as a test wants. */
async function setUp(over: Partial<Limits> = {}) {
  await reset();
  const { now, advance } = movableClock();
  const limits = { ...defaults, ...over };
  const isolate = () => d1Store({ db, limits, clock: now });
  const draftFor = (facts: Partial<TaskDraft> = {}) =>
    draft({ id: isolate().mint(), namespace: "n", owner: "o", createdAt: now(), ttlMs: 24 * HOUR, ...facts });
  return { now, advance, limits, isolate, draftFor };
}

const QUESTION = {
  method: "elicitation/create",
  params: { message: "?", requestedSchema: { type: "object" } },
} as const;

async function ask(
  store: PassiveTaskStore,
  id: string,
  now: number,
  keys: readonly string[] = ["name"],
): Promise<void> {
  await store.work(id, { kind: "claim", lease: { id: "l", worker: "w", until: now + HOUR } });
  const questions = keys.map((authorKey) => ({ authorKey, occurrence: 1, request: QUESTION, deadline: now + HOUR }));
  const event: TaskEvent = { type: "asked", at: now, questions, sleeps: [], ttlMs: 24 * HOUR };
  expect(await store.work(id, { kind: "emit", lease: "l", event })).toMatchObject({ kind: "returned" });
}

const rowsOf = async (table: string): Promise<number> =>
  (await db.prepare(`SELECT count(*) AS n FROM holdfast_${table}`).first<{ n: number }>())?.n ?? -1;

describe("several isolates", () => {
  it("make the tables once, however many begin at the same time", async () => {
    await setUp();
    await Promise.all(Array.from({ length: 10 }, () => migrate(db)));
    expect(await rowsOf("task")).toBe(0);
    expect(await db.prepare("SELECT version FROM holdfast_schema").all()).toMatchObject({ results: [{ version: 2 }] });
  });

  it("find what an earlier version has stored", async () => {
    await setUp();
    await db.batch([
      db.prepare("CREATE TABLE holdfast_schema (one INTEGER PRIMARY KEY, version INTEGER NOT NULL)"),
      db.prepare("INSERT INTO holdfast_schema VALUES (1, 1)"),
      ...[...taskSchema, ...recordSchema].map((statement) => db.prepare(statement)),
      db.prepare(`INSERT INTO holdfast_tally VALUES ('n', '"o"', 0, 0, 0, 0, 0)`),
    ]);
    const kinds = ["submitted", "working", "input_required", "result", "error", "cancelled", "rejected"];
    const rows = kinds.map((kind, n) => (n < 3 ? `'${kind}', NULL` : `'settled', '${kind}'`));
    for (const [n, row] of rows.entries()) {
      await db.exec(
        `INSERT INTO holdfast_task VALUES ('${n}', 'r', 'n', '"o"', 1, 't', '"c"', 'o', ${row}, ${n}, 1, NULL, NULL, NULL, NULL, 0, 0, '')`,
      );
    }
    const store = d1Store({ db, limits: defaults });
    const found = (standing: Standing) =>
      store.search({ namespace: "n", owner: "o", limit: 9, contextId: "c", standing });
    const standings: Standing[] = ["submitted", "working", "input_required", "done", "failed", "cancelled", "rejected"];
    for (const [n, standing] of standings.entries()) {
      expect(await found(standing)).toMatchObject({ rows: [{ id: `${n}`, statusAt: n }], total: 1 });
    }
  });

  it("lose none of each other's writes", async () => {
    const { now, isolate, draftFor } = await setUp();
    const stores = Array.from({ length: 4 }, isolate) as [PassiveTaskStore, ...PassiveTaskStore[]];
    const task = draftFor();
    await stores[0].create(task);
    const keys = Array.from({ length: 40 }, (_, n) => `k${n}`);
    await ask(stores[0], task.id, now(), keys);
    const told = await Promise.all(
      keys.map((key, n) =>
        stores[n % 4]?.tell({ id: task.id, owner: "o" }, { kind: "answer", answers: { [key]: accept("x") } }),
      ),
    );
    expect(told.filter((one) => one?.changed)).toHaveLength(40);
    const after = await stores[1]?.read({ id: task.id, owner: "o" });
    expect(after).toMatchObject({ version: 43, openQuestions: [], stage: { activity: { kind: "due" } } });
  });

  it("let one of many claims have the task, and one of many cancels end it", async () => {
    const { now, isolate, draftFor } = await setUp();
    const stores = Array.from({ length: 4 }, isolate) as [PassiveTaskStore, ...PassiveTaskStore[]];
    const task = draftFor();
    await stores[0].create(task);
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        stores[n % 4]?.work(task.id, { kind: "claim", lease: { id: `l${n}`, worker: "w", until: now() + HOUR } }),
      ),
    );
    expect(claims.filter((one) => one?.kind === "held")).toHaveLength(1);
    const cancels = await Promise.all(
      Array.from({ length: 20 }, (_, n) => stores[n % 4]?.tell({ id: task.id, owner: "o" }, { kind: "cancel" })),
    );
    expect(cancels.filter((one) => one?.changed)).toHaveLength(1);
  });

  it("go by what is stored, not by what they remember of a task", async () => {
    const { now, isolate, draftFor } = await setUp();
    const [runner, other] = [isolate(), isolate()];
    const task = draftFor();
    await runner.create(task);
    await runner.work(task.id, { kind: "claim", lease: { id: "l", worker: "w", until: now() + HOUR } });
    await other.tell({ id: task.id, owner: "o" }, { kind: "cancel" });
    const step: TaskEvent = { type: "stepped", at: now(), key: "late", value: "1" };
    expect(await runner.work(task.id, { kind: "emit", lease: "l", event: step })).toMatchObject({ kind: "cancelled" });
    // Nothing to write either: the answer still has to be true.
    const again: TaskEvent = { type: "slept", at: now(), sleeps: [], ttlMs: null };
    expect(await runner.work(task.id, { kind: "emit", lease: "l", event: again })).toMatchObject({ kind: "cancelled" });
  });

  it("put a question on one stream, also when all of them look at the same time", async () => {
    const { now, isolate, draftFor } = await setUp();
    const task = draftFor();
    const store = isolate();
    await store.create(task);
    const leaving = new AbortController();
    const got: string[][] = [];
    for (let n = 0; n < 8; n += 1) {
      const mine: string[] = [];
      got.push(mine);
      const feed = await isolate().watch({ id: task.id, owner: "o" }, { deliver: 2, signal: leaving.signal });
      void collect(feed, (message) => {
        if (message.kind === "deliver") mine.push(...message.questions.map(({ key }) => key));
      });
    }
    await expect.poll(() => rowsOf("watcher")).toBe(8);
    await ask(store, task.id, now());
    await expect.poll(() => got.flat().length, { timeout: 10_000 }).toBeGreaterThan(0);
    // Each has looked again by then.
    await refuse(store, task.id);
    await expect.poll(() => got.flat().length, { timeout: 10_000 }).toBe(2);
    expect(got.filter((mine) => mine.length > 0)).toEqual([["name", "name-2"]]);
    leaving.abort();
    await expect.poll(() => rowsOf("watcher"), { timeout: 10_000 }).toBe(0);
  });

  it("let a more willing stream carry only once the other has stepped back", async () => {
    const { now, isolate, draftFor } = await setUp();
    const task = draftFor();
    await isolate().create(task);
    const asked = [{ key: "k", request: QUESTION }];
    const less = new Carrying(db, task.id, 1, now);
    const more = new Carrying(db, task.id, 2, now);
    expect(await less.turn([])).toEqual({ kind: "deliver", questions: [] });
    expect(await more.turn([])).toBeNull();
    expect(await more.turn(asked)).toBeNull();
    expect(await less.turn(asked)).toEqual({ kind: "relieved" });
    expect(await less.turn(asked)).toBeNull();
    expect(await more.turn(asked)).toEqual({ kind: "deliver", questions: asked });
    expect([await more.turn(asked), await less.turn(asked)]).toEqual([null, null]);
  });

  it("take the place of a stream whose process died, once it has been silent long enough", async () => {
    const { now, advance, isolate, draftFor } = await setUp();
    const task = draftFor();
    const store = isolate();
    await store.create(task);
    await ask(store, task.id, now());
    await db
      .prepare(`INSERT INTO holdfast_watcher VALUES (?, 'dead', 2, 1, 1, 1, ?)`)
      .bind(task.id, now() + 15_000)
      .run();
    const leaving = new AbortController();
    const got: TaskFeedMessage[] = [];
    void collect(await store.watch({ id: task.id, owner: "o" }, { deliver: 1, signal: leaving.signal }), (message) =>
      got.push(message),
    );
    await expect.poll(() => rowsOf("watcher")).toBe(2);
    expect(got.map(({ kind }) => kind)).toEqual(["snapshot"]);
    advance(16_000);
    await expect.poll(() => got.at(-1)?.kind, { timeout: 10_000 }).toBe("deliver");
    leaving.abort();
  });

  it("never pass a cap together", async () => {
    const { isolate, draftFor } = await setUp({ maxTasksPerOwner: 10 });
    const made = await Promise.all(Array.from({ length: 30 }, () => isolate().create(draftFor())));
    expect(made.filter(({ kind }) => kind === "created")).toHaveLength(10);
  });
});

describe("what is stored", () => {
  it("is gone with its task, and the counters with their last use", async () => {
    const { now, advance, isolate, draftFor } = await setUp();
    const store = isolate();
    const task = draftFor({ ttlMs: HOUR, arguments: JSON.stringify("x".repeat(700_000)) });
    await store.create(task, { key: "k", digest: "d" });
    await ask(store, task.id, now());
    await store.admit("1.2.3.4");
    expect([await rowsOf("task"), await rowsOf("value"), await rowsOf("log")]).toEqual([1, 3, 3]);
    advance(25 * HOUR);
    expect(await store.sweep(100)).toMatchObject({ removed: 1, finished: true });
    expect([await rowsOf("task"), await rowsOf("value"), await rowsOf("log")]).toEqual([0, 0, 0]);
    expect(await db.prepare("SELECT stored, live FROM holdfast_tally").all()).toMatchObject({
      results: [{ stored: 0, live: 0 }],
    });
    advance(2 * HOUR);
    await store.sweep(100);
    expect([await rowsOf("tally"), await rowsOf("address")]).toEqual([0, 0]);
  });

  it("is a log of bounded length, of which the newest lines are kept", async () => {
    const { now, limits, isolate, draftFor } = await setUp();
    const store = isolate();
    const task = draftFor();
    await store.create(task);
    await store.work(task.id, { kind: "claim", lease: { id: "l", worker: "w", until: now() + HOUR } });
    const tasks = new D1Tasks({ db: async () => db, limits, changed: () => {} });
    const events = Array.from({ length: 1_010 }, (_, n): TaskEvent => ({
      type: "stepped",
      at: now(),
      key: `${n}`,
      value: "1",
    }));
    await tasks.change(task.id, "full", () => ({ events, answer: () => null }));
    expect(await rowsOf("log")).toBe(1_000);
    const first = await db.prepare("SELECT min(seq) AS seq FROM holdfast_log").first<{ seq: number }>();
    expect(first?.seq).toBe(1_012 - 1_000 + 1);
  });

  it("may be a record longer than a row, of a task with very many questions", async () => {
    const { now, isolate, draftFor } = await setUp();
    const store = isolate();
    const task = draftFor();
    await store.create(task);
    const keys = Array.from({ length: 20 }, (_, n) => `${n}${"k".repeat(50_000)}`);
    await ask(store, task.id, now(), keys);
    expect(await db.prepare("SELECT record FROM holdfast_task").first()).toEqual({ record: "" });
    const seen = await store.read({ id: task.id, owner: "o" });
    expect(seen?.openQuestions).toHaveLength(20);
    expect((await store.tell({ id: task.id, owner: "o" }, { kind: "cancel" }))?.changed).toBe(true);
    expect((await store.read({ id: task.id, owner: "o" }))?.stage.phase).toBe("settled");
  });

  it("reads as nothing when a record is damaged, and says so in the log (T4)", async () => {
    const { now, limits } = await setUp();
    const lines: string[] = [];
    const records = d1Records({
      db,
      limits,
      clock: now,
      log: (level, message) => void lines.push(`${level}: ${message}`),
    });
    const namespace = NAMESPACES.find(({ name }) => name === "files")!;
    const key = { namespace, space: null, id: "t" };
    const content = { task: null, document: "{}", ttlMs: null };
    await records.create(key, null, content, { maxRows: null, idempotency: null });
    expect(await records.read(key, { kind: "any" })).toMatchObject({ document: "{}" });
    await db.prepare("UPDATE holdfast_record SET facts = '{'").run();
    expect(await records.read(key, { kind: "any" })).toBeNull();
    expect(lines).toEqual(["error: A record cannot be read."]);
  });

  it("is swept, records too, wherever they lie", async () => {
    const { now, advance, limits } = await setUp();
    const records = d1Records({ db, limits, clock: now });
    const content = { task: null, document: "{}", ttlMs: HOUR };
    const [namespace] = NAMESPACES.filter(({ name }) => name === "documents");
    for (const space of ["a", "b"])
      await records.create({ namespace: namespace!, space, id: "t" }, space, content, {
        maxRows: null,
        idempotency: null,
      });
    expect(await records.sweep(100)).toBe(0);
    advance(2 * HOUR);
    expect(await records.sweep(100)).toBe(2);
    advance(2 * HOUR);
    await records.sweep(100);
    expect([await rowsOf("record"), await rowsOf("record_text"), await rowsOf("record_tally")]).toEqual([0, 0, 0]);
  });
});

// Scanned rows are billed and a sort holds them all: every statement goes by an index.
describe.each([
  ["tasks", taskSql],
  ["records", recordSql],
])("the statements of %s", (_, statements) => {
  it.each(Object.entries(statements))("%s: goes by an index", async (_name, statement) => {
    expect(await plan(statement)).not.toMatch(/SCAN (?!CONSTANT)|TEMP B-TREE/);
  });
});

it.each(["total", "totalContext", "totalStanding"] as const)("%s: counts by an index alone", async (name) => {
  expect(await plan(taskSql[name])).toMatch(/COVERING INDEX holdfast_task_/);
});

async function plan(statement: string): Promise<string> {
  await migrate(db);
  const values = (statement.match(/\?/g) ?? []).map(() => 1);
  const { results } = await db
    .prepare(`EXPLAIN QUERY PLAN ${statement}`)
    .bind(...values)
    .all<{ detail: string }>();
  return results.map(({ detail }) => detail).join("\n");
}

/** The answer is unusable, so that it is asked again under another key. */
const refuse = (store: PassiveTaskStore, id: string) =>
  store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: JSON.stringify({ action: "perhaps" }) } });

async function collect(
  feed: AsyncIterable<TaskFeedMessage> | null,
  each: (message: TaskFeedMessage) => unknown,
): Promise<void> {
  for await (const message of feed ?? []) each(message);
}
