import type { Outcome, Phase } from "../task/task";
import type { Standing } from "../task/standing";
import type { IdempotencyKey, TaskListPage, TaskListQuery, TaskSearch, TaskSearchPage } from "./task-store";

export type Reservation = {
  readonly id: string;
  readonly tool: string;
  readonly contextId: string | null;
  readonly origin: string;
  readonly createdAt: number;
  /** Unix ms: a row no task confirmed by then may be dropped, and its task refuses to be created after it. */
  readonly deadline: number;
  readonly idempotency: IdempotencyKey | null;
  readonly maxStored: number;
  readonly maxLive: number;
  readonly maxPerMinute: number;
  /** Of a record: what its row begins with beside a task's. */
  readonly record?: RecordStart;
};

export type RecordStart = {
  /** Fresh: tells this life of the id from one before and one after. */
  readonly mark: string;
  /** As JSON; null where all rows of the index are one owner's. */
  readonly owner: string | null;
  readonly status: string;
};

export type Reserved =
  | { readonly kind: "reserved"; readonly id: string; readonly deadline: number }
  /** The idempotency key names this task; `confirmed` says that the task is known to exist. */
  | { readonly kind: "existing"; readonly id: string; readonly deadline: number; readonly confirmed: boolean }
  | { readonly kind: "conflict" }
  /** Too many in this minute. */
  | { readonly kind: "rate"; readonly value: number; readonly retryAfterMs: number }
  | {
      readonly kind: "limit";
      readonly limit: "MAX_TASKS_PER_OWNER" | "MAX_LIVE_TASKS_PER_OWNER";
      readonly value: number;
    };

/** A task's row as its object last told it. Applied only when `version` is newer than the row's. */
export type Mirror = {
  readonly id: string;
  readonly version: number;
  readonly phase: Phase;
  readonly outcome: Outcome["kind"] | null;
  /** Null of a record: no search finds it. */
  readonly standing: Standing | null;
  readonly statusAt: number;
  /** When the sweep should look at the task next: its next alarm while live, its expiry once settled; null for never. */
  readonly due: number | null;
  /** When the task stops being readable; an idempotency key is free again from then on. */
  readonly expiresAt: number | null;
  /** Of a record: what its row has beside a task's. Applied only to the row of the same mark. */
  readonly record?: RecordFacts;
};

export type RecordFacts = {
  readonly mark: string;
  readonly createdAt: number;
  readonly status: string;
  /** When its status became final, if nothing but the retention rules how long it stays. */
  readonly settledAt: number | null;
};

export type Examined =
  /** Storage is gone (or never was): the row goes too, unless it has another mark by now. */
  | { readonly id: string; readonly found: false; readonly mark?: string | null }
  /** `poked`: it was live and late, and has been set going again. */
  | { readonly id: string; readonly found: true; readonly mirror: Mirror; readonly poked: boolean };

export type DueRow = { readonly id: string; readonly confirmed: boolean; readonly mark?: string | null };

/** One owner's index (in one namespace): the cap, the list, the due times. Exact, because it is one object. */
export interface TaskIndex {
  reserve(reservation: Reservation, now: number): Promise<Reserved>;
  /** Gives an unconfirmed reservation back at once; one that is confirmed, or unknown, stays as it is. */
  release(id: string): Promise<void>;
  /** `watched` says whether anybody listens to the owner's feed. Unknown rows are left unknown. */
  mirror(mirror: Mirror): Promise<{ readonly watched: boolean }>;
  /** Tells the owner's feed of a change that no column shows (progress). Writes nothing. */
  touch(id: string, version: number, phase: Phase): Promise<{ readonly watched: boolean }>;
  /** What has expired at `now` is not listed. `reserved` are the rows of the page that no task has confirmed. */
  list(query: TaskListQuery, now: number): Promise<TaskListPage & { readonly reserved: readonly string[] }>;
  /** The same for a search; a row that no task has confirmed counts as `submitted`. */
  search(query: TaskSearch, now: number): Promise<TaskSearchPage & { readonly reserved: readonly string[] }>;
  /** Rows due at `now`, earliest first: `confirmed` false is a reservation past its deadline. */
  due(now: number, limit: number): Promise<readonly DueRow[]>;
  /**
   * Takes in what examining the due rows found; says what really went and when this owner is due next. `unanswered` are
   * the ids that could not be examined: they are left alone for a while, so that they do not hold up the rest.
   */
  swept(
    examined: readonly Examined[],
    now: number,
    unanswered?: readonly string[],
  ): Promise<{ readonly removed: number; readonly dropped: number; readonly nextDue: number | null }>;
}
