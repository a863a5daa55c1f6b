import type { JsonText } from "./json";
import { answered, ask, lapse, type AskedQuestion } from "./questions";
import {
  outstanding,
  type LogEntry,
  type Outcome,
  type Progress,
  type Task,
  type TaskDraft,
  type TaskEventName,
} from "./task";

/** The n-th sleep of a run (from 0), and when it ends. */
export type Slept = { readonly ordinal: number; readonly until: number };

/** Things that happened. Time, ids and randomness are arguments; `at` is Unix ms. */
export type TaskEvent =
  /** A run begins: the first one, or the next after a suspension or a pause. */
  | { readonly type: "started"; readonly at: number }
  /** The platform cut a run off. Past `maxRestarts` the task is given up. */
  | {
      readonly type: "restarted";
      readonly at: number;
      readonly retryAt: number;
      readonly maxRestarts: number;
      readonly minTtlMs: number;
    }
  | { readonly type: "progressed"; readonly at: number; readonly progress: Progress }
  | { readonly type: "stepped"; readonly at: number; readonly key: string; readonly value: JsonText }
  | {
      readonly type: "asked";
      readonly at: number;
      readonly questions: readonly AskedQuestion[];
      readonly sleeps: readonly Slept[];
      readonly ttlMs: number | null;
    }
  | {
      readonly type: "slept";
      readonly at: number;
      readonly sleeps: readonly Slept[];
      readonly ttlMs: number | null;
    }
  | {
      readonly type: "answered";
      readonly at: number;
      readonly answers: Readonly<Record<string, JsonText>>;
      /** Wire keys whose answer was unusable, and why. */
      readonly refused: Readonly<Record<string, string>>;
    }
  /** Open questions whose deadline passed are answered with `{ "action": "cancel" }`. */
  | { readonly type: "questions_lapsed"; readonly at: number }
  /** `retryAt` null: it was the last attempt, and `giveUp` is the outcome. */
  | {
      readonly type: "attempt_failed";
      readonly at: number;
      readonly retryAt: number | null;
      readonly statusMessage: string;
      readonly giveUp: Outcome;
      readonly minTtlMs: number;
    }
  | {
      readonly type: "settled";
      readonly at: number;
      readonly outcome: Outcome;
      readonly statusMessage: string | null;
      readonly minTtlMs: number;
    }
  | { readonly type: "cancelled"; readonly at: number; readonly minTtlMs: number }
  | { readonly type: "expired"; readonly at: number };

export type Effect =
  /** Begin a run of the tool. */
  | { readonly type: "start" }
  /** Stop the run that may be going on; its results are dropped. */
  | { readonly type: "abort" }
  | { readonly type: "log"; readonly entry: LogEntry };

export type Transition = { readonly task: Task; readonly effects: readonly Effect[] };

/** A new task and the first line of its log. */
export function createTask(draft: TaskDraft): { readonly task: Task; readonly entry: LogEntry } {
  const task: Task = {
    ...draft,
    startedAt: null,
    updatedAt: draft.createdAt,
    statusAt: draft.createdAt,
    statusMessage: null,
    progress: null,
    questions: [],
    sleeps: [],
    steps: new Map(),
    attempts: 0,
    restarts: 0,
    version: 1,
    stage: { phase: "submitted" },
  };
  return { task, entry: entryOf(task, "created") };
}

/**
 * The whole life of a task. Total: a late, duplicate or meaningless event returns the same reference and no effects;
 * whether that is an error is the wire's business. Settled is final.
 */
export function transition(task: Task, event: TaskEvent): Transition {
  if (task.stage.phase === "settled") return unchanged(task);
  const at = Math.max(event.at, task.updatedAt);
  const running = task.stage.phase === "working" && task.stage.activity.kind === "running";
  switch (event.type) {
    case "started":
      return mayStart(task, event.at)
        ? accept(task, event.type, at, { startedAt: task.startedAt ?? at, stage: working("running") }, [
            { type: "start" },
          ])
        : unchanged(task);
    case "restarted": {
      if (!running) return unchanged(task);
      const restarts = task.restarts + 1;
      if (restarts <= event.maxRestarts)
        return accept(task, event.type, at, { restarts, stage: pausing(at, event.retryAt) });
      const message = `The task was given up after restarts of the platform had interrupted it ${restarts} times.`;
      return settle({ ...task, restarts }, event.type, at, failure(message), message, event.minTtlMs);
    }
    case "progressed":
      if (!running || sameProgress(task.progress, event.progress)) return unchanged(task);
      return accept(task, event.type, at, { progress: event.progress, statusMessage: null });
    case "stepped":
      if (!running || task.steps.has(event.key)) return unchanged(task);
      return accept(task, event.type, at, { steps: new Map(task.steps).set(event.key, event.value), attempts: 0 });
    case "asked": {
      if (!running) return unchanged(task);
      const { questions, keys } = ask(task.questions, event.questions, at);
      const sleeps = event.sleeps.reduce(withSleep, task.sleeps);
      return accept(task, event.type, at, { questions, sleeps, ttlMs: event.ttlMs, ...awaiting(questions) }, [], keys);
    }
    case "slept": {
      if (!running || event.sleeps.length === 0) return unchanged(task);
      const sleeps = event.sleeps.reduce(withSleep, task.sleeps);
      const until = Math.min(...event.sleeps.map(({ ordinal }) => sleeps[ordinal] as number));
      const stage = { phase: "working", activity: { kind: "sleeping", until } } as const;
      return accept(task, event.type, at, { sleeps, ttlMs: event.ttlMs, stage });
    }
    case "answered": {
      const { questions, keys } = answered(task.questions, event.answers, event.refused, at);
      return keys.length === 0
        ? unchanged(task)
        : accept(task, event.type, at, { questions, ...awaiting(questions) }, [], keys);
    }
    case "questions_lapsed": {
      const { questions, keys } = lapse(task.questions, at);
      return keys.length === 0
        ? unchanged(task)
        : accept(task, event.type, at, { questions, ...awaiting(questions) }, [], keys);
    }
    case "attempt_failed": {
      if (!running) return unchanged(task);
      const failed = { ...task, attempts: task.attempts + 1 };
      if (event.retryAt === null)
        return settle(failed, event.type, at, event.giveUp, event.statusMessage, event.minTtlMs);
      const stage = { phase: "working", activity: { kind: "backing_off", until: event.retryAt } } as const;
      return accept(task, event.type, at, { attempts: failed.attempts, statusMessage: event.statusMessage, stage });
    }
    case "settled":
      return settle(task, event.type, at, event.outcome, event.statusMessage, event.minTtlMs);
    case "cancelled":
      return settle(task, event.type, at, { kind: "cancelled" }, "The task was cancelled.", event.minTtlMs);
    case "expired":
      return settle(task, event.type, at, { kind: "expired" }, "The task reached the end of its ttl.", null);
  }
}

const unchanged = (task: Task): Transition => ({ task, effects: [] });

const working = (kind: "running" | "due") => ({ phase: "working", activity: { kind } }) as const;

const pausing = (at: number, until: number) =>
  until <= at ? working("due") : ({ phase: "working", activity: { kind: "backing_off", until } } as const);

const failure = (message: string): Outcome => ({ kind: "error", error: { code: -32603, message } });

function mayStart(task: Task, at: number): boolean {
  if (task.stage.phase === "submitted") return true;
  if (task.stage.phase !== "working") return false;
  const { activity } = task.stage;
  switch (activity.kind) {
    case "running":
      return false;
    case "due":
      return true;
    case "sleeping":
    case "backing_off":
      return at >= activity.until;
  }
}

type Change = Partial<Omit<Task, keyof TaskDraft | "version" | "updatedAt" | "statusAt">> &
  Partial<Pick<Task, "ttlMs">>;

function accept(
  task: Task,
  event: TaskEventName,
  at: number,
  change: Change,
  effects: readonly Effect[] = [],
  keys?: readonly string[],
): Transition {
  const statusMessage = clipped(change.statusMessage === undefined ? task.statusMessage : change.statusMessage);
  const next: Task = { ...task, ...change, statusMessage, updatedAt: at, version: task.version + 1 };
  const moved = next.stage.phase === task.stage.phase ? next : { ...next, statusAt: at };
  return { task: moved, effects: [{ type: "log", entry: entryOf(moved, event, keys) }, ...effects] };
}

function settle(
  task: Task,
  event: TaskEventName,
  at: number,
  outcome: Outcome,
  statusMessage: string | null,
  minTtlMs: number | null,
): Transition {
  // Settling leaves time to fetch: a job as long as its ttl would otherwise finish unreadable.
  const ttlMs =
    task.ttlMs === null || minTtlMs === null ? task.ttlMs : Math.max(task.ttlMs, at - task.createdAt + minTtlMs);
  const stage = { phase: "settled", outcome, settledAt: at } as const;
  return accept(task, event, at, { stage, statusMessage, ttlMs, attempts: task.attempts, restarts: task.restarts }, [
    { type: "abort" },
  ]);
}

/** Open questions left: waiting for them; none: the tool may run again. */
function awaiting(questions: Task["questions"]): Pick<Task, "stage" | "statusMessage"> {
  const open = questions.find((question) => question.state.kind === "open");
  if (!open) return { stage: working("due"), statusMessage: null };
  const message = open.request.params["message"];
  return {
    stage: { phase: "input_required" },
    statusMessage: typeof message === "string" ? message : "The task waits for the client's answer.",
  };
}

/** Keeps the n-th sleep at place n, also when an earlier one had passed before it could suspend. */
function withSleep(sleeps: readonly number[], { ordinal, until }: Slept): readonly number[] {
  if (sleeps[ordinal] !== undefined) return sleeps;
  return [...sleeps, ...Array<number>(Math.max(0, ordinal - sleeps.length)).fill(0), until];
}

/** A line for people; whole texts belong into the result or the question. */
const MAX_STATUS_LENGTH = 1000;

const clipped = (text: string | null): string | null =>
  text !== null && text.length > MAX_STATUS_LENGTH ? `${text.slice(0, MAX_STATUS_LENGTH - 1)}…` : text;

const sameProgress = (a: Progress | null, b: Progress): boolean =>
  a !== null && a.message === b.message && a.progress === b.progress && a.total === b.total;

function entryOf(task: Task, event: TaskEventName, keys?: readonly string[]): LogEntry {
  return {
    seq: task.version,
    at: task.updatedAt,
    event,
    phase: task.stage.phase,
    statusMessage: task.statusMessage,
    ...(event === "progressed" && task.progress ? { progress: task.progress } : {}),
    ...(keys ? { keys } : {}),
  };
}

/**
 * The next instant at which the record itself needs attention: its start, wake, deadline or expiry, whichever is first;
 * null for none. A running task needs none but its expiry: its run is watched by whoever holds it.
 */
export function nextDue(task: Task): number | null {
  const { stage } = task;
  const expiry = task.ttlMs === null ? Infinity : task.createdAt + task.ttlMs;
  const earliest = (at: number) => Math.min(at, expiry);
  switch (stage.phase) {
    case "submitted":
      return earliest(task.updatedAt);
    case "input_required":
      return earliest(Math.min(...outstanding(task).map((question) => question.deadline)));
    case "working":
      switch (stage.activity.kind) {
        case "due":
          return earliest(task.updatedAt);
        case "sleeping":
        case "backing_off":
          return earliest(stage.activity.until);
        case "running":
          return expiry === Infinity ? null : expiry;
      }
    // falls through is impossible: every activity returned
    case "settled":
      return null;
  }
}
