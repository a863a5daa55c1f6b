import type { AskedQuestion } from "../task/questions";
import type { JsonObject, JsonText } from "../task/json";
import type { ClientFacts, LogEntry, PushTarget } from "../task/task";
import type { RegisteredTool } from "../tool/registry";
import type { Clock } from "../clock";
import type { Rank } from "./carrier";
import type { Drive } from "./drive";
import type { Limits } from "./limits";
import type { Principal } from "./principal";
import type { Sessions } from "./sessions";
import type { OpenQuestion, TaskSnapshot, TaskStore } from "./task-store";

export type StartRequest = {
  readonly principal: Principal;
  readonly tool: RegisteredTool;
  /** As the caller sent them (already found valid); stored verbatim. */
  readonly arguments: JsonObject;
  /** What the tool's `prepare` returned, if it has one. */
  readonly prepared?: unknown;
  readonly client: ClientFacts;
  readonly origin: string;
  readonly contextId?: string;
  /** What the caller sent, whole, to be kept verbatim and never read. */
  readonly extras?: JsonText;
  /** The tool's `prepare` is left to the task: nothing can be asked before it exists. */
  readonly unprepared?: boolean;
  /** A question for arguments that were left out; the tool runs when it is answered. */
  readonly missing?: AskedQuestion;
  /** Who is to hear of the task from its creation on. */
  readonly push?: readonly PushTarget[];
  /** The caller's wish in ms, if any; clamped to the limits. */
  readonly ttlMs?: number | null;
  /** An anonymous caller's holds within its session; without one it is ignored, since anonymous callers share nothing. */
  readonly idempotencyKey?: string;
};

export type SettleOptions = {
  readonly signal: AbortSignal;
  /** Where the task stands (without its result), before the events from there on. */
  readonly onSnapshot?: (task: TaskSnapshot) => void;
  readonly onEvent?: (entry: LogEntry) => void;
  /** Offers to carry the task's questions and progress to the client. */
  readonly deliver?: Rank;
  /** This stream carries them: all that is open at first (perhaps nothing), then what is newly asked. */
  readonly onDeliver?: (questions: readonly OpenQuestion[]) => void;
  /** Another stream carries them from here on. */
  readonly onRelieved?: () => void;
  readonly restAt?: "input" | "settled";
};

export type TaskServiceParts = {
  readonly store: TaskStore;
  /** Where anonymous callers' idempotency keys are kept; without it they have none. */
  readonly sessions?: Pick<Sessions, "claim">;
  /** For a store that only keeps: sets going what was stored or told. */
  readonly drive?: Pick<Drive, "wake"> | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
};
