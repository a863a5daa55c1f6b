import { mayStart } from "./due";
import { isPush, type Failure, type Slept, type TaskEvent } from "./event";
import { givenArguments } from "./given-arguments";
import { pushed } from "./push";
import { answered, ask, lapse } from "./questions";
import { isKnown, withTurn } from "./turns";
import {
  isExpired,
  type LogEntry,
  type Outcome,
  type Progress,
  type Task,
  type TaskDraft,
  type TaskEventName,
} from "./task";

export type { Slept, TaskEvent } from "./event";

/** `entry` null: nobody sees the change, if there is one. */
export type Transition = { readonly task: Task; readonly entry: LogEntry | null };

/** A new task and the first line of its log. */
export function createTask({ missing, ...draft }: TaskDraft): Transition & { readonly entry: LogEntry } {
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
    turns: [],
    push: draft.push ?? [],
    attempts: 0,
    restarts: 0,
    offeredAt: null,
    lease: null,
    version: 1,
    stage: { phase: "submitted" },
  };
  if (!missing) return { task, entry: entryOf(task, "created") };
  const { questions, keys } = ask([], [missing], draft.createdAt);
  const asking: Task = { ...task, questions, ...awaiting(task, questions, draft.createdAt) };
  return { task: asking, entry: entryOf(asking, "created", keys) };
}

/**
 * The whole life of a task. Total: a late, duplicate or meaningless event returns the same reference and no entry;
 * whether that is an error is the wire's business. Settled is final.
 */
export function transition(task: Task, event: TaskEvent): Transition {
  if (isPush(event)) return unseen(pushed(task, event));
  if (task.stage.phase === "settled") return unseen(task);
  // It reads as missing from its end on: nothing that comes later brings it back.
  if (event.type !== "expired" && isExpired(task, event.at, Infinity)) {
    return transition(task, { type: "expired", at: event.at });
  }
  const at = Math.max(event.at, task.updatedAt);
  const running = task.stage.phase === "working" && task.stage.activity.kind === "running";
  if (event.type === "renewed") {
    const { lease } = task;
    return unseen(lease && event.until > lease.until ? { ...task, lease: { ...lease, until: event.until } } : task);
  }
  const to = (change: Change, keys?: readonly string[]): Transition => accept(task, event.type, at, change, keys);
  switch (event.type) {
    case "started":
    case "claimed": {
      if (!mayStart(task, event.at)) return unseen(task);
      const { lease } = event;
      const begun = { startedAt: task.startedAt ?? at, stage: working("running") };
      return to(lease ? { ...begun, lease, offeredAt: null } : begun);
    }
    case "offered":
      if (task.runs.in === "object" || !mayStart(task, event.at)) return unseen(task);
      if (task.offeredAt === null) return to({ offeredAt: at });
      return unseen(event.at > task.offeredAt ? { ...task, offeredAt: event.at } : task);
    case "released":
      if (!task.lease) return unseen(task);
      return to({ lease: null, ...(running ? { stage: working("due") } : {}) });
    case "lease_lapsed":
      if (!task.lease) return unseen(task);
      return running ? failAttempt(task, event, at) : to({ lease: null });
    case "restarted": {
      if (!running) return unseen(task);
      const restarts = task.restarts + 1;
      if (restarts <= event.maxRestarts) return to({ restarts, stage: pausing(at, event.retryAt), lease: null });
      const message = `The task was given up after restarts of the platform had interrupted it ${restarts} times.`;
      return settle({ ...task, restarts }, event.type, at, failure(message), message, event.minTtlMs);
    }
    case "progressed":
      if (!running || sameProgress(task.progress, event.progress)) return unseen(task);
      return to({ progress: event.progress, statusMessage: null });
    case "stepped":
      if (!running || task.steps.has(event.key)) return unseen(task);
      return to({ steps: new Map(task.steps).set(event.key, event.value), attempts: 0 });
    case "asked": {
      if (!running) return unseen(task);
      const { questions, keys } = ask(task.questions, event.questions, at);
      const sleeps = event.sleeps.reduce(withSleep, task.sleeps);
      const rest = suspended(task);
      return to(
        { questions, sleeps, ttlMs: event.ttlMs, ...rest, ...awaiting({ ...task, ...rest }, questions, at) },
        keys,
      );
    }
    case "slept": {
      if (!running || event.sleeps.length === 0) return unseen(task);
      const sleeps = event.sleeps.reduce(withSleep, task.sleeps);
      const until = Math.min(...event.sleeps.map(({ ordinal }) => sleeps[ordinal] as number));
      const stage = { phase: "working", activity: { kind: "sleeping", until } } as const;
      return to({ sleeps, ttlMs: event.ttlMs, stage, ...suspended(task) });
    }
    case "answered":
    case "questions_lapsed": {
      const turn = event.type === "answered" ? event.turn : undefined;
      if (turn && isKnown(task.turns, turn)) return unseen(task);
      const { questions, keys } =
        event.type === "answered"
          ? answered(task.questions, event.answers, event.refused, at)
          : lapse(task.questions, at);
      const turns = turn ? withTurn(task.turns, turn) : task.turns;
      if (keys.length === 0) return turn ? accept(task, "said", at, { turns }) : unseen(task);
      const given = givenArguments(task, questions);
      if (given === null) {
        const reason = "The arguments that were asked for were not given.";
        const refused = { ...task, questions, turns };
        return settle(refused, event.type, at, { kind: "rejected", reason }, reason, null, keys);
      }
      return to({ questions, turns, ...given, ...awaiting(task, questions, at) }, keys);
    }
    case "said": {
      if (isKnown(task.turns, event.turn)) return unseen(task);
      const turns = withTurn(task.turns, event.turn);
      // Somebody else may have answered in the meantime: then there is nothing to explain.
      const { statusMessage } = task.stage.phase === "input_required" ? event : { statusMessage: null };
      return to({ turns, ...(statusMessage === null ? {} : { statusMessage }) });
    }
    case "attempt_failed":
      return running || task.lease ? failAttempt(task, event, at) : unseen(task);
    case "settled":
      return settle(task, event.type, at, event.outcome, event.statusMessage, event.minTtlMs);
    case "cancelled":
      return settle(task, event.type, at, { kind: "cancelled" }, "The task was cancelled.", event.minTtlMs);
    case "expired":
      return settle(task, event.type, at, { kind: "expired" }, "The task reached the end of its ttl.", null);
  }
}

/** No new version of the task: no view of it shows the change, if there is one. */
const unseen = (task: Task): Transition => ({ task, entry: null });

const working = (kind: "running" | "due") => ({ phase: "working", activity: { kind } }) as const;

const pausing = (at: number, until: number) =>
  until <= at ? working("due") : ({ phase: "working", activity: { kind: "backing_off", until } } as const);

/** Whose fault it was is in the message, as far as a caller may know it. */
export const failure = (message: string): Outcome => ({ kind: "error", error: { code: -32603, message } });

type Change = Partial<Omit<Task, keyof TaskDraft | "version" | "updatedAt" | "statusAt">> &
  Partial<Pick<Task, "ttlMs" | "arguments">>;

function accept(task: Task, event: TaskEventName, at: number, change: Change, keys?: readonly string[]): Transition {
  const statusMessage = clipped(change.statusMessage === undefined ? task.statusMessage : change.statusMessage);
  const next: Task = { ...task, ...change, statusMessage, updatedAt: at, version: task.version + 1 };
  const moved = next.stage.phase === task.stage.phase ? next : { ...next, statusAt: at };
  return { task: moved, entry: entryOf(moved, event, keys) };
}

function settle(
  task: Task,
  event: TaskEventName,
  at: number,
  outcome: Outcome,
  statusMessage: string | null,
  minTtlMs: number | null,
  keys?: readonly string[],
): Transition {
  // Settling leaves time to fetch: a job as long as its ttl would otherwise finish unreadable.
  const ttlMs =
    task.ttlMs === null || minTtlMs === null ? task.ttlMs : Math.max(task.ttlMs, at - task.createdAt + minTtlMs);
  const stage = { phase: "settled", outcome, settledAt: at } as const;
  return accept(task, event, at, { stage, statusMessage, ttlMs }, keys);
}

function failAttempt(
  task: Task,
  { type, retryAt, statusMessage, giveUp, minTtlMs }: Failure & { readonly type: TaskEventName },
  at: number,
): Transition {
  const attempts = task.attempts + 1;
  if (retryAt === null) return settle({ ...task, attempts }, type, at, giveUp, statusMessage, minTtlMs);
  const failed = { attempts, lease: null, offeredAt: null };
  // With questions open it waits for their answers first, which takes longer than any pause.
  if (task.stage.phase === "input_required") return accept(task, type, at, failed);
  const stage = { phase: "working", activity: { kind: "backing_off", until: retryAt } } as const;
  return accept(task, type, at, { ...failed, statusMessage, stage });
}

/** A run of our own ends where it suspends, and its lease with it; a worker elsewhere stays at its task. */
const suspended = ({ runs }: Task): Pick<Task, "lease"> | null => (runs.in === "queue" ? null : { lease: null });

/** Open questions left: waiting for them; none: the tool may run again. */
function awaiting({ lease }: Task, questions: Task["questions"], at: number): Change {
  const open = questions.find((question) => question.state.kind === "open");
  // A worker that kept its lease goes on by itself; nobody else is to begin a run.
  if (!open && lease && lease.until > at) return { stage: working("running"), statusMessage: null };
  if (!open) return { stage: working("due"), statusMessage: null, lease: null };
  const message = open.request.params["message"];
  return {
    stage: { phase: "input_required" },
    statusMessage: clipped(typeof message === "string" ? message : "The task waits for the client's answer."),
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
