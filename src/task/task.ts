import type { JsonObject, JsonText } from "./json";
import type { AskedQuestion } from "./questions";

/** Who a task belongs to: a canonical key made of issuer and subject, or null for an anonymous caller. */
export type Owner = string | null;

export type Progress = { readonly message?: string; readonly progress?: number; readonly total?: number };

/** What a person or a client is asked for. `params` is in the shape of the newest MCP revision; older views adapt it. */
export type InputRequest = {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params: JsonObject;
};

export type QuestionState =
  | { readonly kind: "open" }
  | { readonly kind: "answered"; readonly at: number; readonly answer: JsonText }
  /** The answer was unusable; the same question was asked again under a key of its own. */
  | { readonly kind: "retired"; readonly at: number; readonly reason: string };

export type Question = {
  /** The wire key: unique for the task's whole life. */
  readonly key: string;
  /** The key the tool's author used, and which time it was used in one run (from 1). */
  readonly authorKey: string;
  readonly occurrence: number;
  readonly request: InputRequest;
  readonly askedAt: number;
  /** When nobody answered by then, the tool sees `{ action: "cancel" }`. Unix ms. */
  readonly deadline: number;
  readonly state: QuestionState;
};

/** What the client said after the task had begun, whole, in the words of its wire. */
export type Turn = {
  /** As its sender named it. Of the same name with the same digest it is the same message, sent again. */
  readonly id: string;
  readonly digest: string;
  readonly at: number;
  readonly message: JsonText;
};

/** Where news of a task are sent, as a caller asked for it. */
export type PushWish = {
  /** Unique within the task. */
  readonly id: string;
  readonly url: string;
  /** Sent along, so that the receiver knows that it asked for this. */
  readonly token: string | null;
  readonly authentication: { readonly scheme: string; readonly credentials: string | null } | null;
  /** Which wire the news are written for, e.g. `a2a/1.0`. */
  readonly wire: string;
};

/** News that were given up. */
export type DeadLetter = { readonly seq: number; readonly at: number; readonly reason: string };

export type PushTarget = PushWish & {
  /** All of the log up to this seq was delivered there, or given up. */
  readonly cursor: number;
  /** Failed deliveries of what comes next. */
  readonly failures: number;
  /** Unix ms; null: at once. */
  readonly retryAt: number | null;
  /** The newest ones. */
  readonly dead: readonly DeadLetter[];
};

export type RpcError = { readonly code: number; readonly message: string; readonly data?: JsonText };

/** What happened, never what a wire calls it. */
export type Outcome =
  | { readonly kind: "result"; readonly result: JsonText; readonly isError: boolean }
  | { readonly kind: "error"; readonly error: RpcError }
  | { readonly kind: "cancelled" }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "expired" };

/** What a working task is doing between two events. */
export type Activity =
  | { readonly kind: "running" }
  /** Nothing holds it back: it runs as soon as its alarm fires. */
  | { readonly kind: "due" }
  | { readonly kind: "sleeping"; readonly until: number }
  | { readonly kind: "backing_off"; readonly until: number };

export type Stage =
  | { readonly phase: "submitted" }
  | { readonly phase: "working"; readonly activity: Activity }
  | { readonly phase: "input_required" }
  | { readonly phase: "settled"; readonly outcome: Outcome; readonly settledAt: number };

export type Phase = Stage["phase"];

/** The caller as the task's tool may know it; recorded at creation. Never holds a credential. */
export type ClientFacts = {
  /** The protocol revision, e.g. `2026-07-28`. */
  readonly revision: string;
  readonly capabilities: JsonObject;
  readonly principal: { readonly issuer: string; readonly subject: string } | null;
  /** The session of an older MCP revision it was made in: where an anonymous caller's questions go. */
  readonly session?: { readonly key: string; readonly expiresAt: number };
  /** The request's progress token, valid for the task's whole life (MCP 2025-11-25 tasks §Task Progress Notifications). */
  readonly progressToken?: string | number;
  /** The caller's trace (W3C Trace Context `traceparent`): its log lines carry it. */
  readonly traceparent?: string;
  /** It called without tasks: what it cannot be asked itself, its model answers with `task_answer`. */
  readonly bridged?: true;
};

/** Where a task's tool runs. */
export type RunsIn =
  /** In the process that holds the task. */
  | { readonly in: "object" }
  /** In a Workflow of its own, which the platform's engine keeps going. */
  | { readonly in: "workflow" }
  /** At a worker that claims it from this queue. */
  | {
      readonly in: "queue";
      readonly queue: string;
      /** Failed attempts, a lapsed lease among them, before the task fails; null for the deployment's setting. */
      readonly maxAttempts: number | null;
      /** The tool's output schema: what a worker returns is held against it. */
      readonly output: JsonText | null;
    };

/** A worker's right to report on a task, until it lapses. Its id fences: whoever comes with another changes nothing. */
export type Lease = {
  readonly id: string;
  /** Unix ms. */
  readonly until: number;
  /** Who holds it, as it called itself: for people. */
  readonly worker: string;
  /** How long it was claimed for, ms: what a heartbeat renews it by that says nothing else. */
  readonly ms?: number;
};

/** The facts a task is created with. Times are Unix ms, durations ms. */
export type TaskDraft = {
  readonly id: string;
  readonly namespace: string;
  readonly owner: Owner;
  /** Which door it came through, e.g. `mcp/2026-07-28`. */
  readonly origin: string;
  readonly tool: string;
  readonly toolVersion: string | null;
  readonly runs: RunsIn;
  readonly arguments: JsonText;
  /** What the tool's `prepare` returned, for its `run`. */
  readonly prepared: JsonText | null;
  readonly client: ClientFacts;
  readonly contextId: string | null;
  /** Caller-supplied extras, kept verbatim and never read. */
  readonly extras: JsonText | null;
  readonly createdAt: number;
  /** From creation; null is unlimited. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  /** The tool's `prepare` has not run: a run of the task begins with it. */
  readonly unprepared?: true;
  /** Arguments that are still to be asked for, under `ARGUMENTS_KEY`, before the tool may run. */
  readonly missing?: AskedQuestion;
  /** Who is to hear of it from its creation on. */
  readonly push?: readonly PushTarget[];
};

/** The key of the question for the arguments that a message left out. */
export const ARGUMENTS_KEY = "tool-arguments";

export type Task = Omit<TaskDraft, "missing"> & {
  readonly startedAt: number | null;
  /** The last visible change, and the last change of phase. Neither ever goes back. */
  readonly updatedAt: number;
  readonly statusAt: number;
  readonly statusMessage: string | null;
  readonly progress: Progress | null;
  /** In the order asked. */
  readonly questions: readonly Question[];
  /** The n-th `task.sleep` of a run ends at the n-th entry, however often the run is repeated. */
  readonly sleeps: readonly number[];
  readonly steps: ReadonlyMap<string, JsonText>;
  /** The newest of what the client said on the way, in order. */
  readonly turns: readonly Turn[];
  readonly push: readonly PushTarget[];
  /** Failed attempts since the last new step. */
  readonly attempts: number;
  /** Runs that a restart of the platform cut off. */
  readonly restarts: number;
  /** When it was last handed to its queue or its Workflow, Unix ms; null: it still has to be. */
  readonly offeredAt: number | null;
  /** Held by whoever runs it elsewhere; of a settled task, by whoever settled it. */
  readonly lease: Lease | null;
  /** One more for each accepted event; also the `seq` of the newest log entry. */
  readonly version: number;
  readonly stage: Stage;
};

/** One line of a task's ordered log: small facts only; bodies are read from the task. */
export type LogEntry = {
  readonly seq: number;
  readonly at: number;
  readonly event: TaskEventName;
  readonly phase: Phase;
  readonly statusMessage: string | null;
  readonly progress?: Progress;
  /** The wire keys the event asked, answered or retired. */
  readonly keys?: readonly string[];
};

export type TaskEventName =
  | "created"
  | "offered"
  | "claimed"
  | "released"
  | "lease_lapsed"
  | "started"
  | "restarted"
  | "progressed"
  | "stepped"
  | "asked"
  | "slept"
  | "answered"
  | "said"
  | "questions_lapsed"
  | "attempt_failed"
  | "settled"
  | "cancelled"
  | "expired";

/** The questions somebody should answer; of a settled task none. */
export const outstanding = (task: Task): readonly Question[] =>
  task.stage.phase === "settled" ? [] : task.questions.filter((question) => question.state.kind === "open");

type Lifetime = Pick<Task, "createdAt" | "ttlMs" | "stage">;

/** When the task stops being readable, or null for never. `retentionMs` rules settled tasks without a ttl. */
export function expiresAt(task: Lifetime, retentionMs: number): number | null {
  if (task.ttlMs !== null) return task.createdAt + task.ttlMs;
  return task.stage.phase === "settled" ? task.stage.settledAt + retentionMs : null;
}

/** Expiry is a fact of reading: a task reads as not found from this instant, whether or not anything collected it. */
export function isExpired(task: Lifetime, now: number, retentionMs: number): boolean {
  const at = expiresAt(task, retentionMs);
  return at !== null && now >= at;
}
