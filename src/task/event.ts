import type { JsonText } from "./json";
import type { AskedQuestion } from "./questions";
import type { Lease, Outcome, Progress, PushWish, Turn } from "./task";

/** The n-th sleep of a run (from 0), and when it ends. */
export type Slept = { readonly ordinal: number; readonly until: number };

/** `retryAt` null: it was the last attempt, and `giveUp` is the outcome. */
export type Failure = {
  readonly at: number;
  readonly retryAt: number | null;
  readonly statusMessage: string;
  readonly giveUp: Outcome;
  readonly minTtlMs: number;
};

/** Things that happened. Time, ids and randomness are arguments; `at` is Unix ms. */
export type TaskEvent =
  /** A run begins: the first one, or the next after a suspension or a pause. With a lease it goes on away from the task. */
  | { readonly type: "started"; readonly at: number; readonly lease?: Lease }
  /** It lies in its queue now, or its Workflow knows of it. Told again later, nobody sees it. */
  | { readonly type: "offered"; readonly at: number }
  /** A worker took it: a run begins there. */
  | { readonly type: "claimed"; readonly at: number; readonly lease: Lease }
  /** The worker is still at it. Nobody sees this, so it is not in the log. */
  | { readonly type: "renewed"; readonly at: number; readonly until: number }
  /** The worker gave it back, and no attempt was lost. */
  | { readonly type: "released"; readonly at: number }
  /** The worker fell silent. A run counts as failed; a task that waits for input only loses its worker. */
  | ({ readonly type: "lease_lapsed" } & Failure)
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
      /** The message that brought them; one that is known already changes nothing. */
      readonly turn?: Turn;
    }
  /** The client said something that answers nothing; `statusMessage`, unless null, tells it what would. */
  | { readonly type: "said"; readonly at: number; readonly turn: Turn; readonly statusMessage: string | null }
  /** Open questions whose deadline passed are answered with `{ "action": "cancel" }`. */
  | { readonly type: "questions_lapsed"; readonly at: number }
  | ({ readonly type: "attempt_failed" } & Failure)
  | {
      readonly type: "settled";
      readonly at: number;
      readonly outcome: Outcome;
      readonly statusMessage: string | null;
      readonly minTtlMs: number;
    }
  | { readonly type: "cancelled"; readonly at: number; readonly minTtlMs: number }
  | { readonly type: "expired"; readonly at: number }
  | PushEvent;

/** About who is told of the task, not about the task: nobody sees these, and they may come after its end. */
export type PushEvent =
  /** In place of one of the same id. A new one hears of what comes from here on. */
  | { readonly type: "push_set"; readonly at: number; readonly target: PushWish }
  | { readonly type: "push_removed"; readonly at: number; readonly id: string }
  /** All of the log up to this seq has arrived. */
  | { readonly type: "pushed"; readonly at: number; readonly id: string; readonly seq: number }
  /** What is of this seq did not arrive; `retryAt` null: and is given up. */
  | {
      readonly type: "push_failed";
      readonly at: number;
      readonly id: string;
      readonly seq: number;
      readonly retryAt: number | null;
      readonly reason: string;
    };

export const isPush = (event: TaskEvent): event is PushEvent => event.type.startsWith("push");
