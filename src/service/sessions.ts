import type { JsonText } from "../task/json";
import type { LogLevel } from "../tool/context";
import type { IdempotencyKey } from "./task-store";

/**
 * A session of an older MCP revision, by the random part of its sealed id. Its facts (version, capabilities, caller) are
 * in the id itself: nothing is stored for it until something must be kept.
 */
export type Session = {
  readonly key: string;
  /** Unix ms; what is kept for it goes then. */
  readonly expiresAt: number;
};

/** Events kept of all streams of one session, for a client that comes back with `Last-Event-ID`. */
export const REPLAY_EVENTS = 100;
export const REPLAY_BYTES = 262_144;
/** Anonymous tasks that a session remembers to have asked something: the newest. */
export const ASKING_TASKS = 100;
/** Cancelled request ids kept in memory for calls that connect only after it. */
export const RECENT_CANCELS = 20;
/** Idempotency keys an anonymous caller may use in one session. */
export const SESSION_KEYS = 100;

/** Whoever is connected to a session: an open GET stream, or a call that is still going on. */
export type SessionRole =
  | { readonly kind: "stream" }
  | { readonly kind: "call"; readonly call: string; readonly requestId: string | number };

export type SessionMessage =
  /** Nothing from here on is missed; `asking` are the anonymous tasks of this session that wait for an answer (streams only). */
  | { readonly kind: "ready"; readonly asking: readonly string[] }
  /** To the streams: an anonymous task of this session asks something. */
  | { readonly kind: "asking"; readonly task: string }
  /** To the call that asked. The answer as the client sent it. */
  | { readonly kind: "answer"; readonly key: string; readonly answer: JsonText }
  /** To the call: the client does not want it any more (`notifications/cancelled`). */
  | { readonly kind: "cancelled" };

export type Claimed =
  | { readonly kind: "claimed" | "existing"; readonly id: string }
  | { readonly kind: "conflict" }
  | { readonly kind: "limit" };

/** What sessions keep. One behaviour suite runs over the memory and the durable implementation. */
export interface Sessions {
  /** Keeps a message of a stream for replay; its event id is `<stream>.<n>`, n from 1, without gaps. */
  append(session: Session, stream: string, message: JsonText): Promise<string>;
  /** What the event's own stream sent after it; null when that is not known (any more). */
  replay(
    session: Session,
    lastEventId: string,
  ): Promise<{
    readonly stream: string;
    readonly events: readonly { readonly id: string; readonly message: JsonText }[];
  } | null>;
  setLogLevel(session: Session, level: LogLevel): Promise<void>;
  /** Null when none was set. Writes nothing. */
  logLevel(session: Session): Promise<LogLevel | null>;
  /** Messages until the signal aborts; reattaches after a redeploy and says `ready` again. */
  attach(session: Session, role: SessionRole, signal: AbortSignal): AsyncIterable<SessionMessage>;
  /** Hands a posted answer to the call that waits for it; false when none does. */
  answer(session: Session, call: string, key: string, answer: JsonText): Promise<boolean>;
  /** Tells the call with this request id, also one that connects only later; false when none is connected yet. */
  cancel(session: Session, requestId: string | number): Promise<boolean>;
  /** An anonymous task of this session asks something: tells open streams, and remembers it (≤ 100) for the next one. */
  asking(session: Session, task: string): Promise<void>;
  /** Binds an anonymous caller's idempotency key to a task id within the session: the first id stays. */
  claim(session: Session, tool: string, idempotency: IdempotencyKey, id: string): Promise<Claimed>;
}
