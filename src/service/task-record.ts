// A task as storage keeps it: one small record, and beside it the texts that may be long, each under a slot name.
import type { JsonObject, JsonText } from "../task/json";
import type { InputRequest, LogEntry, Question, Stage, Task } from "../task/task";

/** A long text, or the request of a question, which is kept as one. By reference: the same value is the same bytes. */
export type LongValue = JsonText | InputRequest;

export type LongValues = ReadonlyMap<string, LongValue>;

/** What changes with every event, and is therefore written again with every event. */
export type TaskRecord = {
  readonly task: JsonObject;
  /** The newest `progressed` entry: of these no other is kept. */
  readonly progressed: LogEntry | null;
  /** How many entries the log holds. */
  readonly logged: number;
};

/** The long values of a task, steps in the order they were stored. */
export function longValues(task: Task): LongValues {
  const values = new Map<string, LongValue>([[slot("arguments"), task.arguments]]);
  if (task.prepared !== null) values.set(slot("prepared"), task.prepared);
  if (task.extras !== null) values.set(slot("extras"), task.extras);
  const body = bodyOf(task.stage);
  if (body !== null) values.set(slot("outcome"), body);
  for (const [key, value] of task.steps) values.set(slot("step", key), value);
  for (const { id, digest, message } of task.turns) values.set(slot("turn", id, digest), message);
  for (const { key, request, state } of task.questions) {
    values.set(slot("request", key), request);
    if (state.kind === "answered") values.set(slot("answer", key), state.answer);
  }
  return values;
}

/** The task with nothing in the place of its long values. */
export function shortFacts(task: Task): JsonObject {
  return {
    ...task,
    arguments: null,
    prepared: null,
    extras: null,
    steps: [],
    turns: task.turns.map((turn) => ({ ...turn, message: "" })),
    questions: task.questions.map(shortQuestion),
    stage: withBody(task.stage, () => ""),
  } as unknown as JsonObject;
}

/** Puts a task together again. `text` gives the text of a slot, or undefined where there was none. */
export function toTask(facts: JsonObject, slots: Iterable<string>, text: (slot: string) => JsonText | undefined): Task {
  // A record written before these were known is of a task that runs where it lives.
  const short = {
    runs: { in: "object" },
    offeredAt: null,
    lease: null,
    turns: [],
    push: [],
    ...facts,
  } as unknown as Task;
  const steps = new Map<string, JsonText>();
  for (const name of slots) {
    const [kind, key] = JSON.parse(name) as [string, string];
    if (kind === "step") steps.set(key, text(name) ?? "");
  }
  return {
    ...short,
    arguments: text(slot("arguments")) ?? "",
    prepared: text(slot("prepared")) ?? null,
    extras: text(slot("extras")) ?? null,
    steps,
    turns: short.turns.map((turn) => ({ ...turn, message: text(slot("turn", turn.id, turn.digest)) ?? "" })),
    questions: short.questions.map((question) => fullQuestion(question, text)),
    stage: withBody(short.stage, () => text(slot("outcome")) ?? ""),
  };
}

/** JSON, so that any key may stand in it: NUL, lone surrogates and all. */
const slot = (...path: readonly string[]): string => JSON.stringify(path);

function shortQuestion(question: Question): unknown {
  const { state } = question;
  return { ...question, request: null, state: state.kind === "answered" ? { ...state, answer: "" } : state };
}

function fullQuestion(question: Question, text: (slot: string) => JsonText | undefined): Question {
  const { key, state } = question;
  const request = JSON.parse(text(slot("request", key)) ?? "null") as InputRequest;
  return {
    ...question,
    request,
    state: state.kind === "answered" ? { ...state, answer: text(slot("answer", key)) ?? "" } : state,
  };
}

/** The part of an outcome that may be long. */
function bodyOf(stage: Stage): JsonText | null {
  if (stage.phase !== "settled") return null;
  if (stage.outcome.kind === "result") return stage.outcome.result;
  return stage.outcome.kind === "error" ? (stage.outcome.error.data ?? null) : null;
}

function withBody(stage: Stage, body: () => JsonText): Stage {
  if (stage.phase !== "settled") return stage;
  const { outcome } = stage;
  if (outcome.kind === "result") return { ...stage, outcome: { ...outcome, result: body() } };
  if (outcome.kind === "error" && outcome.error.data !== undefined) {
    return { ...stage, outcome: { ...outcome, error: { ...outcome.error, data: body() } } };
  }
  return stage;
}
