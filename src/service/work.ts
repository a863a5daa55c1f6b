import { TaskError, type TaskErrorCode } from "../task/errors";
import type { JsonText } from "../task/json";
import { isSilent, mayStart } from "../task/due";
import type { AskedQuestion } from "../task/questions";
import {
  isExpired,
  type InputRequest,
  type Lease,
  type Outcome,
  type Progress,
  type RpcError,
  type Task,
} from "../task/task";
import { failure, type TaskEvent } from "../task/transition";
import { canBeAsked } from "../tool/asks";
import { jsonText } from "./ending";
import type { Limits } from "./limits";
import { QuestionBook } from "./question-book";
import { failedAttempt, restarted } from "./setback";
import { withoutBody } from "./snapshot";
import { longestWait, raisedTtl } from "./ttl";
import { endingOf, isSameError, isSameResult } from "./work-result";

/** Longest and shortest lease, ms: between two heartbeats a worker may be silent that long. */
export const LEASE_RANGE_MS = { shortest: 1_000, longest: 3_600_000 } as const;

export const DEFAULT_LEASE_MS = 30_000;

/** What a run elsewhere does. All but `claim` need the lease that is in force, and change nothing without it. */
export type WorkAct =
  | { readonly kind: "claim"; readonly lease: Lease }
  /**
   * The worker lives; its lease ends then (Unix ms), or left out, as long from now as it was claimed for. With `progress`
   * it also says how far it is.
   */
  | { readonly kind: "heartbeat"; readonly lease: string; readonly until?: number; readonly progress?: Progress }
  /** How far it is, and nothing about its lease. */
  | { readonly kind: "progress"; readonly lease: string; readonly progress: Progress }
  /** By the author's key. Asked again, a question that stands already is not asked twice. `timeoutMs` from now. */
  | {
      readonly kind: "ask";
      readonly lease: string;
      readonly questions: Readonly<Record<string, InputRequest>>;
      readonly timeoutMs?: number;
    }
  /** A `CallToolResult`. */
  | { readonly kind: "complete"; readonly lease: string; readonly result: JsonText }
  | { readonly kind: "fail"; readonly lease: string; readonly error: RpcError; readonly retry: boolean }
  | { readonly kind: "release"; readonly lease: string }
  /** For runs of our own that go on away from the task: what happened, as the machine knows it. */
  | { readonly kind: "emit"; readonly lease: string; readonly event: TaskEvent }
  /** Time has passed: what that alone brings, a lapsed lease or an unanswered question. Needs no lease, nor do the next. */
  | { readonly kind: "tend" }
  /** Its queue or its Workflow has been told of it. */
  | { readonly kind: "offered" }
  /** Its Workflow is over, or there can be none: nobody will ever go on with it. `reason` is a sentence for the caller. */
  | { readonly kind: "abandoned"; readonly reason: string };

/**
 * What became of it. Plain data; crosses RPC. The long texts of a task may be left empty, unless it was claimed, or is
 * held still after an `emit` that was no progress. Acts that need no lease are answered by where the task stands.
 */
export type Worked =
  /** The lease is in force; this is the task now. */
  | { readonly kind: "held"; readonly task: Task }
  /** The task is settled, and this lease settled it so: also when it was told before. */
  | { readonly kind: "settled"; readonly task: Task }
  /** Nobody has it now: it was given back, waits, or failed and there will be another attempt. */
  | { readonly kind: "returned"; readonly task: Task }
  /** The task was cancelled while the worker had it: stop. */
  | { readonly kind: "cancelled"; readonly task: Task }
  /** Somebody else has it, or nobody: nothing was changed. */
  | { readonly kind: "lost"; readonly task: Task }
  /** It holds the lease but may not do this; nothing was changed. */
  | { readonly kind: "refused"; readonly code: TaskErrorCode; readonly message: string };

export type WorkPlan = {
  /** What to do to the task: each in turn, in one commit or several. */
  readonly events: readonly TaskEvent[];
  /** What to answer once they are durable. */
  readonly answer: (task: Task) => Worked;
};

type Parts = { readonly limits: Limits; readonly now: number; readonly random: () => number };

/** What an act means for the task as it stands; decides, and changes nothing. Whoever keeps the task commits the events. */
export function planWork(task: Task, act: WorkAct, parts: Parts): WorkPlan {
  if (act.kind === "claim") return planClaim(task, act.lease, parts);
  if (act.kind === "tend") return { events: overdue(task, parts), answer: standing };
  if (act.kind === "offered") return { events: [offered(task, parts.now)], answer: standing };
  if (act.kind === "abandoned") return { events: abandoned(task, act.reason, parts), answer: standing };
  if (task.lease?.id !== act.lease) return nothing({ kind: "lost", task });
  if (task.stage.phase === "settled") return nothing(afterTheEnd(task, task.stage.outcome, act));
  // Lapsed by the clock, whether or not the alarm has seen it: the next claim may be on its way.
  if (task.lease.until <= parts.now && lapses(task))
    return { events: lapseOf(task, parts), answer: (now) => ({ kind: "lost", task: now }) };
  try {
    return { events: eventsOf(task, act, parts), answer: standing };
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    // A run that contradicts itself is a fault of ours only where the run is.
    const code = error.code === "internal" ? "conflict" : error.code;
    return nothing({ kind: "refused", code, message: error.message });
  }
}

/** Of a Workflow the engine says whether it lives. Its silence alone takes nothing from it: it may be hard at work. */
const lapses = ({ runs }: Task): boolean => runs.in !== "workflow";

/** What a lease that has ended by now means; nothing while it lasts. */
function lapseOf(task: Task, parts: Parts): readonly TaskEvent[] {
  if (task.stage.phase === "settled" || !task.lease || task.lease.until > parts.now || !lapses(task)) return [];
  if (task.stage.phase === "working" && task.runs.in !== "queue") return [restarted(task, parts.limits, parts.now)];
  const message = `The worker "${task.lease.worker}" stopped reporting.`;
  return [{ ...failedRun(task, failure(message), message, parts), type: "lease_lapsed" }];
}

/** A run that was silent and goes on, as its engine says, has its lease for as long again. */
const offered = (task: Task, now: number): TaskEvent =>
  isSilent(task, now)
    ? { type: "renewed", at: now, until: now + (task.lease?.ms ?? DEFAULT_LEASE_MS) }
    : { type: "offered", at: now };

const abandoned = ({ runs }: Task, reason: string, parts: Parts): readonly TaskEvent[] =>
  runs.in === "workflow" ? [settled(failure(reason), reason, parts)] : [];

const settled = (outcome: Outcome, statusMessage: string | null, { limits, now }: Parts): TaskEvent => ({
  type: "settled",
  at: now,
  outcome,
  statusMessage,
  minTtlMs: limits.minTtlMs,
});

/**
 * Without what whoever acts need not be told again: it knows what it claimed, and may have to carry it far. What the
 * client said, and who is told of the task, is no run's business.
 */
export function lean(act: WorkAct, worked: Worked): Worked {
  if (worked.kind === "refused") return worked;
  const heard: Task = { ...worked.task, turns: [], push: [] };
  if (needsTexts(act, worked)) return { ...worked, task: heard };
  const bare = withoutBody({ ...heard, arguments: "", prepared: null, extras: null, steps: new Map() });
  return { ...worked, task: bare };
}

/** A run of our own begins with all of the task, and goes on with the steps as they were stored. */
const needsTexts = (act: WorkAct, { kind }: Worked): boolean =>
  kind === "held" && (act.kind === "claim" || (act.kind === "emit" && act.event.type !== "progressed"));

/** All that time alone has brought by now. */
export const overdue = (task: Task, parts: Parts): readonly TaskEvent[] => [
  ...lapseOf(task, parts),
  ...(task.stage.phase === "input_required" ? ([{ type: "questions_lapsed", at: parts.now }] as const) : []),
];

function planClaim(task: Task, lease: Lease, parts: Parts): WorkPlan {
  const { now, limits } = parts;
  const held = (current: Task): Worked =>
    current.lease?.id === lease.id && current.stage.phase !== "settled"
      ? { kind: "held", task: current }
      : { kind: "lost", task: current };
  if (task.stage.phase === "settled" || isExpired(task, now, limits.retentionMs))
    return nothing({ kind: "lost", task });
  // The answer to an earlier claim was lost: this is the same one, and its worker lives.
  if (task.lease?.id === lease.id && task.lease.until > now)
    return { events: [{ type: "renewed", at: now, until: lease.until }], answer: held };
  const passed = [...overdue(task, parts), ...supersedes(task, parts)];
  if (passed.length === 0 && !mayStart(task, now)) return nothing({ kind: "lost", task });
  const begun = task.runs.in === "queue" ? "claimed" : "started";
  // After a lapse it may have to back off first; then this changes nothing.
  return { events: [...passed, { type: begun, at: now, lease }], answer: held };
}

/** Only its Workflow claims it: whoever held it until now was an earlier life of the same, and is no more. */
const supersedes = (task: Task, parts: Parts): readonly TaskEvent[] =>
  task.runs.in === "workflow" && task.lease !== null ? [restarted(task, parts.limits, parts.now)] : [];

export type LeasedAct = Extract<WorkAct, { readonly lease: string }>;

function eventsOf(task: Task, act: LeasedAct, parts: Parts): readonly TaskEvent[] {
  const { now, limits } = parts;
  const at = now;
  switch (act.kind) {
    case "heartbeat":
      return [
        { type: "renewed", at, until: act.until ?? now + (task.lease?.ms ?? DEFAULT_LEASE_MS) },
        ...(act.progress ? ([{ type: "progressed", at, progress: act.progress }] as const) : []),
      ];
    case "progress":
      return [{ type: "progressed", at, progress: act.progress }];
    case "ask":
      return askEvents(task, act.questions, act.timeoutMs, parts);
    case "complete": {
      const { outcome, statusMessage } = endingOf(task, act.result, limits.resultLimitBytes);
      return [settled(outcome, statusMessage, parts)];
    }
    case "fail": {
      const { message } = act.error;
      jsonText(act.error, limits.resultLimitBytes, "The error");
      const giveUp: Outcome = { kind: "error", error: act.error };
      if (!act.retry) return [settled(giveUp, message, parts)];
      return [{ ...failedRun(task, giveUp, message, parts), type: "attempt_failed" }];
    }
    case "release":
      return [{ type: "released", at }];
    case "emit":
      return [act.event];
  }
}

function askEvents(
  task: Task,
  asked: Readonly<Record<string, InputRequest>>,
  timeoutMs: number | undefined,
  { limits, now }: Parts,
): readonly TaskEvent[] {
  const requests = Object.entries(asked);
  if (
    !task.client.bridged &&
    !canBeAsked(
      task.client.capabilities,
      requests.map(([, request]) => request),
    )
  ) {
    throw new TaskError("capability_missing", "The client that made this task cannot be asked this.");
  }
  jsonText(asked, limits.resultLimitBytes, "What is asked");
  const deadline = Math.ceil(now + (timeoutMs ?? longestWait(task, limits, now)));
  const book = new QuestionBook();
  const fresh: AskedQuestion[] = [];
  for (const [authorKey, request] of requests) {
    if (book.find(task, authorKey, request)) continue;
    fresh.push({ authorKey, occurrence: book.nextOccurrence(task, authorKey), request, deadline });
  }
  // The answer to an earlier ask was lost: this is the same one.
  if (fresh.length === 0) return [];
  if (task.stage.phase !== "working") throw new TaskError("conflict", "Questions of this task are open already.");
  return [
    { type: "asked", at: now, questions: fresh, sleeps: [], ttlMs: raisedTtl(task, limits, deadline, "question") },
  ];
}

/** Whoever gave it back or failed has no lease any more. */
function standing(task: Task): Worked {
  if (task.stage.phase === "settled") return { kind: "settled", task };
  return { kind: task.lease === null ? "returned" : "held", task };
}

/** The task is settled, and this worker was the last to have it. Telling the same again is no fault. */
function afterTheEnd(task: Task, outcome: Outcome, act: LeasedAct): Worked {
  if (outcome.kind === "cancelled" || outcome.kind === "expired") return { kind: "cancelled", task };
  return isSame(task, outcome, act) ? { kind: "settled", task } : { kind: "lost", task };
}

function isSame(task: Task, outcome: Outcome, act: LeasedAct): boolean {
  if (act.kind === "complete") return isSameResult(task, outcome, act.result);
  return act.kind === "fail" && isSameError(outcome, act.error);
}

function failedRun(task: Task, giveUp: Outcome, reason: string, { limits, now, random }: Parts) {
  const most = (task.runs.in === "queue" ? task.runs.maxAttempts : null) ?? limits.maxAttempts;
  return failedAttempt(task, giveUp, reason, { most, limits, at: now, random });
}

const nothing = (worked: Worked): WorkPlan => ({ events: [], answer: () => worked });
