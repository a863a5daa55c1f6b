import type { JsonObject } from "../task/json";
import type { ClientFacts, Progress } from "../task/task";

/** What a tool may ask a person or a client. `schema` is a flat JSON Schema object of primitives. */
export type Ask =
  | { readonly kind: "form"; readonly message: string; readonly schema: JsonObject }
  | { readonly kind: "url"; readonly message: string; readonly url: string }
  | { readonly kind: "sampling"; readonly params: JsonObject }
  | { readonly kind: "roots" };

export type AskKind = Ask["kind"];

/** `cancel` is also what a tool sees when nobody answered by the deadline. */
export type ElicitAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** A sampling or roots answer is the client's result object, or `{ action: "cancel" }` after the deadline. */
export type AnswerTo<Q extends Ask> = Q extends { kind: "form" | "url" } ? ElicitAnswer : JsonObject;

export type Answers<Q extends Readonly<Record<string, Ask>>> = { readonly [K in keyof Q]: AnswerTo<Q[K]> };

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/**
 * What `prepare` gets. It runs in the request, before any task exists, or (over A2A, which cannot ask before one does) at
 * the beginning of the task; it may be repeated from the top.
 */
export type CallContext = {
  readonly client: ClientFacts;
  /** Aborts on cancel, timeout, expiry, and (a plain call) when the client leaves. */
  readonly signal: AbortSignal;
  /** For URLs a caller gave: refuses local and private addresses, odd schemes and ports, on every redirect hop too. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** Asks before a task exists; the call is answered with the questions and repeated by the client. */
  ask<Q extends Readonly<Record<string, Ask>>>(questions: Q): Promise<Answers<Q>>;
};

/**
 * What `run` gets. A run may be repeated from the top after a crash, a failed attempt, an answer or a sleep: what
 * `step`, `sleep` and `ask` already settled comes back at once with the same value. Code between them must be safe to
 * repeat. A suspension travels as an exception: let it pass through any `catch` of yours.
 */
export type TaskContext = Omit<CallContext, "ask"> & {
  /** The task's id, or null in a plain call that is no task. */
  readonly id: string | null;
  /** What `prepare` returned. */
  readonly prepared: unknown;
  /** 1 for the first attempt since the last stored step. */
  readonly attempt: number;
  /** Tells whoever watches how far it is. Cheap to call often: the newest is kept, at a bounded rate. */
  progress(progress: Progress): void;
  /** A line for the operator's log and for clients that asked for it. Never put secrets here. */
  log(level: LogLevel, message: string, data?: JsonObject): void;
  /** Runs `fn` at least once and stores what it returned (JSON) under `key`; repeated runs get the stored value. */
  step<T>(key: string, fn: () => Promise<T> | T): Promise<T>;
  /** Suspends until the time (Unix ms or Date). The n-th sleep of a run keeps the end it was first given. */
  sleep(until: number | Date): Promise<void>;
  /** Suspends until all are answered, or the deadline (ms from asking, default `QUESTION_TTL_MS`). */
  ask<Q extends Readonly<Record<string, Ask>>>(questions: Q, options?: { timeoutMs?: number }): Promise<Answers<Q>>;
};
