import {
  longValues,
  shortFacts,
  toTask,
  type LongValue,
  type LongValues,
  type TaskRecord,
} from "../service/task-record";
import type { Limits } from "../service/limits";
import { LOG_LIMIT } from "../service/task-shelf";
import { nextWork } from "../task/due";
import type { JsonObject } from "../task/json";
import { standingOfTask } from "../task/standing";
import { expiresAt, type LogEntry, type Task } from "../task/task";
import { fromPieces, isShort, toPieces } from "./long-text";
import { taskSql } from "./task-sql";

/** How much of a task is loaded: what is not is empty, and stays as it is when the task is written. */
export type Level = "facts" | "view" | "saidFacts" | "saidView" | "full";

/** A task as it was read, and the write that had made it so. */
export type Stored = Omit<TaskRecord, "task"> & { readonly rev: string; readonly task: Task };

type Row = { rev: string; record: string };
type ValueRow = { kind: string; slot: string; escaped: 0 | 1; text: string };

/** The record of a task with very many questions is kept as a long text too. */
const RECORD_SLOT = JSON.stringify(["record"]);

export const newRev = (): string => crypto.randomUUID();

/** The two statements that load a task; `fromResults` takes what they found. */
export const loading = (db: D1Database, id: string, level: Level): [D1PreparedStatement, D1PreparedStatement] => [
  db.prepare(taskSql.row).bind(id),
  db.prepare(taskSql[level]).bind(id),
];

export function fromResults(rows: readonly unknown[], values: readonly unknown[]): Stored | null {
  const [row] = rows as readonly Row[];
  if (!row) return null;
  const pieces = Map.groupBy(values as readonly ValueRow[], ({ slot }) => slot);
  const texts = new Map(
    [...pieces].map(([slot, parts]) => [
      slot,
      fromPieces({ escaped: parts[0]?.escaped ?? 0, parts: parts.map(({ text }) => text) }),
    ]),
  );
  const { task, progressed, logged } = JSON.parse(row.record || (texts.get(RECORD_SLOT) ?? "")) as TaskRecord;
  return { rev: row.rev, task: toTask(task, texts.keys(), (slot) => texts.get(slot)), progressed, logged };
}

/** What a task becomes in one write; `entries` are the new lines of its log. */
export type Change = { readonly task: Task; readonly entries: readonly LogEntry[] };

/** The statements that write a task over what was read of it; the first one returns a row if it was still so. */
export function writing(
  db: D1Database,
  before: Stored,
  { task, entries }: Change,
  { retentionMs }: Pick<Limits, "retentionMs">,
): { readonly after: Stored; readonly statements: readonly D1PreparedStatement[] } {
  const after = { rev: newRev(), task, ...logAfter(before, entries) };
  const { columns, values } = textsOf(after);
  const { version, stage, statusAt } = task;
  const update = db
    .prepare(taskSql.update)
    .bind(
      after.rev,
      version,
      stage.phase,
      stage.phase === "settled" ? stage.outcome.kind : null,
      statusAt,
      nextWork(task),
      expiresAt(task, retentionMs),
      standingOfTask(task),
      columns.record,
      task.id,
      before.rev,
    );
  return {
    after,
    statements: [
      update,
      ...logging(db, before, after, entries),
      ...storing(db, task.id, after.rev, textsOf(before).values, values),
    ],
  };
}

/** The row of a new task, and the statements that store what is beside it: they count only once its row is there. */
export function creating(
  db: D1Database,
  task: Task,
  entry: LogEntry,
): { readonly after: Stored; readonly record: string; readonly statements: readonly D1PreparedStatement[] } {
  const before = { rev: "", task, progressed: null, logged: 0 };
  const after = { rev: newRev(), task, ...logAfter(before, [entry]) };
  const { columns, values } = textsOf(after);
  return {
    after,
    record: columns.record,
    statements: [
      ...logging(db, before, after, [entry]),
      ...storing(db, task.id, after.rev, new Map<string, LongValue>(), values),
    ],
  };
}

/** Of `progressed` entries only the newest is kept, in the record: it is written again with every report anyway. */
function logAfter(before: Pick<Stored, "progressed" | "logged">, entries: readonly LogEntry[]) {
  const progressed = entries.findLast(({ event }) => event === "progressed") ?? before.progressed;
  const added = entries.filter(({ event }) => event !== "progressed").length;
  return { progressed, logged: Math.min(LOG_LIMIT, before.logged + added) };
}

/** What goes into the row, and what beside it. */
function textsOf({ task, progressed, logged }: Pick<Stored, "task" | "progressed" | "logged">): {
  readonly columns: { readonly record: string };
  readonly values: LongValues;
} {
  const record = JSON.stringify({ task: shortFacts(task) as JsonObject, progressed, logged } satisfies TaskRecord);
  const values = longValues(task);
  return isShort(record)
    ? { columns: { record }, values }
    : { columns: { record: "" }, values: new Map([...values, [RECORD_SLOT, record]]) };
}

function logging(db: D1Database, before: Pick<Stored, "logged">, after: Stored, entries: readonly LogEntry[]) {
  const { id } = after.task;
  const kept = entries.filter(({ event }) => event !== "progressed");
  const surplus = Math.max(0, before.logged + kept.length - LOG_LIMIT);
  return [
    ...kept.map((entry) => db.prepare(taskSql.addEntry).bind(id, entry.seq, JSON.stringify(entry), id, after.rev)),
    ...Array.from({ length: surplus }, () => db.prepare(taskSql.dropOldestEntry).bind(id, id, id, after.rev)),
  ];
}

/** Long texts are written once each: what is the same by reference is the same in storage. */
function storing(
  db: D1Database,
  id: string,
  rev: string,
  before: LongValues,
  after: LongValues,
): D1PreparedStatement[] {
  const stale = [...before.keys()].filter((slot) => before.get(slot) !== after.get(slot));
  const fresh = [...after].filter(([slot, value]) => before.get(slot) !== value);
  return [
    ...stale.map((slot) => db.prepare(taskSql.removeValue).bind(id, kindOf(slot), slot, id, rev)),
    ...fresh.flatMap(([slot, value]) => {
      const { escaped, parts } = toPieces(typeof value === "string" ? value : JSON.stringify(value));
      return parts.map((text, part) =>
        db.prepare(taskSql.addValue).bind(id, kindOf(slot), slot, part, escaped, text, id, rev),
      );
    }),
  ];
}

const kindOf = (slot: string): string => (JSON.parse(slot) as readonly [string])[0];
