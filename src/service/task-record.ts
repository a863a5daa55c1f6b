// A task as storage keeps it: one small record, and beside it the texts that may be long, each under a slot name.
import type { JsonObject, JsonText } from "../task/json";
import type { InputRequest, LogEntry, Stage, Task } from "../task/task";

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
  const values = new Map<string, LongValue>();
  withValues(task, (value, ...path) => {
    if (value !== null) values.set(slot(path), value);
    return value;
  });
  return values;
}

/** The task with nothing in the place of its long values. */
export const shortFacts = (task: Task): JsonObject =>
  ({ ...withValues(task, () => null as never), steps: [] }) as unknown as JsonObject;

/** Puts a task together again. `text` gives the text of a slot, or undefined where there was none. */
export function toTask(facts: JsonObject, slots: Iterable<string>, text: (slot: string) => JsonText | undefined): Task {
  // A record written before these were known is of a task that runs where it lives.
  const defaults = { runs: { in: "object" }, offeredAt: null, lease: null, turns: [], push: [] };
  const steps = new Map<string, JsonText>();
  for (const name of slots) {
    const [kind, key] = JSON.parse(name) as [string, string];
    if (kind === "step") steps.set(key, "");
  }
  const short = { ...defaults, ...facts, steps } as unknown as Task;
  return withValues(short, (_, ...path): never => {
    const value = text(slot(path));
    const [kind = ""] = path;
    if (kind === "request") return JSON.parse(value ?? "null") as never;
    return (value ?? (kind === "prepared" || kind === "extras" ? null : "")) as never;
  });
}

/** JSON, so that any key may stand in it: NUL, lone surrogates and all. */
const slot = (path: readonly string[]): string => JSON.stringify(path);

/** The task with what is given for each of its long values, which are named by their paths. */
function withValues(task: Task, give: <T extends LongValue | null>(value: T, ...path: readonly string[]) => T): Task {
  return {
    ...task,
    arguments: give(task.arguments, "arguments"),
    prepared: give(task.prepared, "prepared"),
    extras: give(task.extras, "extras"),
    stage: withBody(task.stage, (body) => give(body, "outcome")),
    steps: new Map([...task.steps].map(([key, value]) => [key, give(value, "step", key)])),
    turns: task.turns.map((turn) => ({ ...turn, message: give(turn.message, "turn", turn.id, turn.digest) })),
    questions: task.questions.map((question) => {
      const { key, state } = question;
      const request = give(question.request, "request", key);
      const answered = state.kind === "answered" ? { ...state, answer: give(state.answer, "answer", key) } : state;
      return { ...question, request, state: answered };
    }),
  };
}

/** The part of an outcome that may be long is its result, or what an error has with it. */
function withBody(stage: Stage, give: (body: JsonText) => JsonText): Stage {
  if (stage.phase !== "settled") return stage;
  const { outcome } = stage;
  if (outcome.kind === "result") return { ...stage, outcome: { ...outcome, result: give(outcome.result) } };
  if (outcome.kind === "error" && outcome.error.data !== undefined) {
    return { ...stage, outcome: { ...outcome, error: { ...outcome.error, data: give(outcome.error.data) } } };
  }
  return stage;
}
