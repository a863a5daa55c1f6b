import type { Rank } from "./carrier";
import type { JsonText } from "../task/json";
import type {
  ClientFacts,
  InputRequest,
  Lease,
  LogEntry,
  Outcome,
  Owner,
  Progress,
  PushTarget,
  PushWish,
  Question,
  RunsIn,
  Stage,
  TaskDraft,
  Turn,
} from "../task/task";
import type { Standing } from "../task/standing";
import type { Worked, WorkAct } from "./work";

/** Names one task as one caller may see it. The store answers null for an id that is missing, foreign or expired. */
export type TaskRef = { readonly id: string; readonly owner: Owner };

/** A question under its wire key. */
export type OpenQuestion = { readonly key: string; readonly request: InputRequest };

/** A task as views see it: small facts, the open questions, and the outcome in full. Plain data; crosses RPC. */
export type TaskSnapshot = {
  readonly id: string;
  readonly namespace: string;
  readonly owner: Owner;
  readonly origin: string;
  readonly tool: string;
  readonly runs: RunsIn;
  readonly contextId: string | null;
  readonly client: ClientFacts;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly statusAt: number;
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly statusMessage: string | null;
  readonly progress: Progress | null;
  readonly openQuestions: readonly OpenQuestion[];
  readonly attempts: number;
  readonly restarts: number;
  readonly offeredAt: number | null;
  readonly lease: Lease | null;
  readonly version: number;
  readonly stage: Stage;
  /** Only where it was asked for. */
  readonly conversation?: Conversation;
};

/** What was said from both sides, and who is told of it: long, and of no use to most readers. */
export type Conversation = {
  readonly arguments: JsonText;
  readonly extras: JsonText | null;
  /** All that were ever asked, in the order asked. */
  readonly questions: readonly Question[];
  readonly turns: readonly Turn[];
  readonly push: readonly PushTarget[];
};

/** A caller's key for "the same call again": scoped by owner and tool, lives as long as the task. */
export type IdempotencyKey = {
  readonly key: string;
  /** A digest of what was asked; the same key with another digest is a conflict. */
  readonly digest: string;
};

export type Created =
  | { readonly kind: "created"; readonly task: TaskSnapshot }
  /** The key was used before with the same body: this is that task. */
  | { readonly kind: "existing"; readonly task: TaskSnapshot }
  | { readonly kind: "conflict" }
  /** `CREATES_PER_MINUTE` is used up. */
  | { readonly kind: "rate"; readonly value: number; readonly retryAfterMs: number }
  | { readonly kind: "limit"; readonly limit: string; readonly value: number };

/** What an outsider may tell a task. Values are JSON text by wire key. */
export type Command =
  | { readonly kind: "answer"; readonly answers: Readonly<Record<string, JsonText>>; readonly turn?: Said }
  /** Answers nothing; `statusMessage`, unless null, tells the client what would. */
  | { readonly kind: "say"; readonly turn: Said; readonly statusMessage: string | null }
  /** In place of one of the same id. Past `MAX_PUSH_TARGETS` nothing changes. Also of a settled task. */
  | { readonly kind: "push"; readonly target: PushWish }
  | { readonly kind: "unpush"; readonly id: string }
  | { readonly kind: "cancel" };

/** A message of the client: the same id with the same digest again changes nothing. */
export type Said = Omit<Turn, "at">;

/** `changed` is false when the task was settled already, or nothing it was told applied. */
export type Told = { readonly task: TaskSnapshot; readonly changed: boolean };

/**
 * A task's feed: first where it stands (without the outcome's body), then each event in order. `gone` is the last
 * message of a task that expired or was removed; a settled task's feed ends after its last event.
 */
export type TaskFeedMessage =
  | { readonly kind: "snapshot"; readonly task: TaskSnapshot }
  | { readonly kind: "event"; readonly entry: LogEntry }
  /**
   * To the one watcher that carries questions and progress to its client, of those that offered: first all that is open
   * (or nothing), then what is newly asked. When its stream ends another gets them.
   */
  | { readonly kind: "deliver"; readonly questions: readonly OpenQuestion[] }
  /** To the one that carried until now: another does from here on. */
  | { readonly kind: "relieved" }
  | { readonly kind: "gone" };

/** An owner's feed: which task changed, never its body. `ready` says that nothing from here on is missed. */
export type OwnerFeedMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "change"; readonly id: string; readonly version: number; readonly phase: Stage["phase"] }
  | { readonly kind: "gone"; readonly id: string };

export type TaskListQuery = {
  readonly namespace: string;
  readonly owner: string;
  readonly limit: number;
  /** Strictly older than this row: newest first by (createdAt, id). */
  readonly after?: { readonly createdAt: number; readonly id: string };
};

export type TaskListRow = {
  readonly id: string;
  readonly createdAt: number;
  readonly tool: string;
  readonly contextId: string | null;
  readonly origin: string;
  readonly phase: Stage["phase"];
  readonly outcome: Outcome["kind"] | null;
  readonly statusAt: number;
};

/** Tasks by when they last changed their phase, newest first, and by id. */
export type TaskSearch = {
  readonly namespace: string;
  readonly owner: string;
  readonly limit: number;
  readonly contextId?: string;
  readonly standing?: Standing;
  /** Unix ms: not those whose `statusAt` is earlier. */
  readonly since?: number;
  /** Strictly after this row. */
  readonly after?: { readonly statusAt: number; readonly id: string };
};

/** `total`: how many there are, on this page and all others. */
export type TaskSearchPage = TaskListPage & { readonly total: number };

export type TaskListPage = { readonly rows: readonly TaskListRow[]; readonly more: boolean };

/** What one collecting run did, for its log line. */
export type SweepReport = {
  readonly owners: number;
  readonly examined: number;
  /** Tasks removed, each counted by exactly one run. */
  readonly removed: number;
  /** Reservations that no task confirmed. */
  readonly dropped: number;
  /** Live tasks whose due time had passed: an alarm was lost, or the clock moved. */
  readonly poked: number;
  readonly failures: number;
  /** Object calls made. */
  readonly calls: number;
  /** False when the budget ended first; the next run goes on from there. */
  readonly finished: boolean;
};

export type Polled =
  | { readonly kind: "task"; readonly task: TaskSnapshot }
  | { readonly kind: "limited"; readonly retryAfterMs: number };

export type ReadOptions = { readonly body?: boolean; readonly conversation?: boolean };

export type WatchOptions = {
  readonly after?: number | undefined;
  readonly deliver?: Rank;
  readonly signal: AbortSignal;
};

/** The port. One behaviour suite (test/stores/contract.ts) runs over every implementation. */
export interface TaskStore {
  /** A fresh unguessable id, safe in a header. Stores nothing. */
  mint(): string;
  /** Whether the id could be one of ours: decided without touching any storage. */
  recognises(id: string): boolean;
  /**
   * Stores the task and its start. When this resolves, `read` finds the task from anywhere.
   * Exact under any number of parallel calls: never more than `MAX_TASKS_PER_OWNER` stored.
   */
  create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created>;
  /** Counts a task that an anonymous caller at this address wants; null, or how long (ms) it must wait. Stores nothing. */
  admit(address: string): Promise<number | null>;
  /** A pure read: writes nothing, safe to repeat. `body: false` leaves out what a settled task came to. */
  read(ref: TaskRef, options?: ReadOptions): Promise<TaskSnapshot | null>;
  /** Holds one of `MAX_STREAMS_PER_OWNER` places of an anonymous caller's address until the signal aborts. Throws `limit_reached`. */
  occupy(address: string, signal: AbortSignal): Promise<void>;
  /** A read on a caller's behalf, counted: who keeps the advertised interval is never refused. */
  poll(ref: TaskRef, options?: ReadOptions): Promise<Polled | null>;
  /** Applied and durable when it resolves; a late or duplicate command changes nothing. */
  tell(ref: TaskRef, command: Command): Promise<Told | null>;
  /**
   * What a run that goes on elsewhere reports, under its lease, which is all the right it needs: the task's queue gave it.
   * Durable when it resolves; null when there is no such task.
   */
  work(id: string, act: WorkAct): Promise<Worked | null>;
  /**
   * The task's feed from after the given seq; null when there is no such task. Ends when `signal` aborts. `deliver`
   * offers to carry its questions: the higher is preferred.
   */
  watch(ref: TaskRef, options: WatchOptions): Promise<AsyncIterable<TaskFeedMessage> | null>;
  /** The feed of everything an identified owner has in a namespace. Ends only when `signal` aborts. */
  listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage>;
  list(query: TaskListQuery): Promise<TaskListPage>;
  search(query: TaskSearch): Promise<TaskSearchPage>;
  /** Whether it carries news of its tasks to push targets; otherwise none may be set. */
  readonly pushes?: boolean;
  /** Collects what has expired within `budget` object calls, and resumes where the last run stopped. */
  sweep(budget: number): Promise<SweepReport>;
}

/** A store that only keeps: the deployment runs its tasks for it, and the cron asks it which. */
export interface PassiveTaskStore extends TaskStore {
  /** Tasks whose next due time has passed, a lapsed lease among them: earliest first. */
  due(now: number, limit: number): Promise<readonly string[]>;
}
