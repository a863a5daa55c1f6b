import type { Clock } from "../clock";
import { notFound, TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import type { InputRequest, Outcome, Owner, Phase, Progress } from "../task/task";
import { QUEUE_NAME } from "../tool/declaration";
import { checkQuestions } from "./check-work";
import { claimWork } from "./claim-work";
import { digestOf } from "./digest";
import type { Drive } from "./drive";
import type { Limits } from "./limits";
import { ownerOf, type Principal } from "./principal";
import type { OpenQuestion, TaskStore } from "./task-store";
import { DEFAULT_LEASE_MS, type LeasedAct } from "./work";
import { toWorkAnswer } from "./work-answer";
import type { WorkQueues } from "./work-queue";

/** A line of progress is cut there, and an error's message: it says what went wrong, and is no place for a result. */
const LONGEST_LINE = 1_000;
const LONGEST_MESSAGE = 100_000;

/** What a worker wants of a queue. */
export type ClaimWish = {
  /** 1 to 200 characters, the worker's own: with the same id the same tasks are given again while their leases hold. */
  readonly claimId: string;
  /** As it calls itself, for people: 1 to 200 characters. */
  readonly worker: string;
  /** 1 to 100; left out, 1. */
  readonly max?: number;
  /** How long to wait for the first task: up to 30,000; left out, not at all. */
  readonly waitMs?: number;
  /** Left out, 30,000. */
  readonly leaseMs?: number;
  /** Only tasks of these tools, at most 100; left out, all. */
  readonly tools?: readonly string[] | null;
};

/** What a heartbeat brings: until when the lease holds now, and what was asked and answered. */
export type HeldWork = {
  readonly taskId: string;
  readonly lease: string;
  /** Unix ms. */
  readonly leaseUntil: number;
  /** By the key it was asked under: the newest usable answer. One nobody gave in time is `{"action":"cancel"}`. */
  readonly answers: Readonly<Record<string, JsonText>>;
  readonly openQuestions: readonly OpenQuestion[];
};

/** One task as its worker needs it. */
export type Work = HeldWork & {
  readonly tool: string;
  /** Who asked for it: issuer and subject as one text, or null; never a credential. */
  readonly owner: Owner;
  readonly arguments: JsonText;
  /** From 1: this one included. */
  readonly attempt: number;
  /** Unix ms. */
  readonly createdAt: number;
  readonly ttlMs: number | null;
  /** When the task ends whatever its worker does, Unix ms; null for never. */
  readonly expiresAt: number | null;
  readonly contextId: string | null;
  readonly client: { readonly revision: string; readonly capabilities: Readonly<Record<string, unknown>> };
};

/** Where a task stands that is no longer this worker's. */
export type WorkState = {
  readonly phase: Phase;
  /** Null while it is not settled. */
  readonly outcome: Outcome["kind"] | null;
  readonly isError: boolean;
  readonly statusMessage: string | null;
};

export type WorkAnswer =
  /** The lease is in force. */
  | { readonly kind: "held"; readonly work: HeldWork }
  /** Settled by this lease, now or when it was told the same before. */
  | { readonly kind: "settled"; readonly state: WorkState }
  /** No longer this worker's: it gave it back, or failed and there will be another attempt. */
  | { readonly kind: "returned"; readonly state: WorkState }
  /** Cancelled or expired while this worker had it: stop. */
  | { readonly kind: "cancelled"; readonly state: WorkState }
  /** The lease is not in force; nothing was changed. */
  | { readonly kind: "lost"; readonly state: WorkState };

export type WorkServiceParts = {
  readonly store: Pick<TaskStore, "work" | "recognises">;
  readonly queues: WorkQueues;
  /** For a store that only keeps: sets going what came back. */
  readonly drive?: Pick<Drive, "wake"> | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
};

/**
 * What workers elsewhere do. Who may be one is the door's to judge, and what a wish may be; on a task the lease is all the
 * right it takes. Throws `not_found`, `invalid`, `too_large`, `conflict`, `capability_missing`, `overloaded`.
 */
export class WorkService {
  readonly #parts: WorkServiceParts;

  constructor(parts: WorkServiceParts) {
    this.#parts = parts;
  }

  /**
   * Waits up to `waitMs` for something to do, and takes what is there then. Empty when nothing came in time, or when the
   * signal aborted. Whose answer was lost claims again with the same id: else those tasks wait until their leases lapse.
   */
  async claim(principal: Principal, queue: string, wish: ClaimWish, signal: AbortSignal): Promise<readonly Work[]> {
    if (!QUEUE_NAME.test(queue)) {
      throw new TaskError("invalid", "A queue's name is 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`.");
    }
    const key = await digestOf(JSON.stringify([ownerOf(principal), wish.claimId]));
    const claim = { max: 1, waitMs: 0, leaseMs: DEFAULT_LEASE_MS, tools: null, ...wish, key };
    return claimWork({ ...this.#parts, queue: this.#parts.queues(queue) }, claim, signal);
  }

  /** Renews the lease by `leaseMs`, or by what it was claimed for; never shortens it. */
  async heartbeat(
    taskId: string,
    { lease, leaseMs }: { readonly lease: string; readonly leaseMs?: number },
  ): Promise<WorkAnswer> {
    return this.#act(taskId, { kind: "heartbeat", lease, ...this.#renewal(leaseMs) });
  }

  /** Renews the lease only with `leaseMs`: a report may be late, and says nothing about the next minutes. */
  async progress(
    taskId: string,
    told: { readonly lease: string; readonly progress: Progress; readonly leaseMs?: number },
  ): Promise<WorkAnswer> {
    const { lease, leaseMs } = told;
    const { message, ...numbers } = told.progress;
    const progress = message === undefined ? numbers : { ...numbers, message: message.slice(0, LONGEST_LINE) };
    const kind = leaseMs === undefined ? "progress" : "heartbeat";
    return this.#act(taskId, { kind, lease, progress, ...this.#renewal(leaseMs) });
  }

  /**
   * Asks the client that made the task, by keys of the worker's choice. What was asked before, under the same key and the
   * same request, is not asked again: its answer is in the answer. The lease stays; a worker that does not want to wait
   * with it releases it, and the next claim has the answers.
   */
  async ask(
    taskId: string,
    told: {
      readonly lease: string;
      readonly questions: Readonly<Record<string, InputRequest>>;
      /** From now; left out, as long as there may be. */
      readonly timeoutMs?: number;
    },
  ): Promise<WorkAnswer> {
    return this.#act(taskId, { ...told, kind: "ask", questions: checkQuestions(told.questions) });
  }

  /** `result`: a `CallToolResult`, or with an output schema a value of it. */
  async complete(
    taskId: string,
    { lease, result }: { readonly lease: string; readonly result: JsonText },
  ): Promise<WorkAnswer> {
    return this.#act(taskId, { kind: "complete", lease, result });
  }

  /** A JSON-RPC error; its message is shown to the client. `retry`: another attempt may help. Left out, not. */
  async fail(
    taskId: string,
    told: {
      readonly lease: string;
      /** `code` left out is -32603. */
      readonly error: { readonly code?: number; readonly message: string; readonly data?: JsonText };
      readonly retry?: boolean;
    },
  ): Promise<WorkAnswer> {
    const error = { code: -32603, ...told.error, message: told.error.message.slice(0, LONGEST_MESSAGE) };
    return this.#act(taskId, { retry: false, ...told, kind: "fail", error });
  }

  /** Gives the task back, and no attempt is lost. */
  async release(taskId: string, { lease }: { readonly lease: string }): Promise<WorkAnswer> {
    return this.#act(taskId, { kind: "release", lease });
  }

  async #act(taskId: string, act: LeasedAct): Promise<WorkAnswer> {
    const { store, drive } = this.#parts;
    const worked = store.recognises(taskId) ? await store.work(taskId, act) : null;
    if (!worked) throw notFound();
    if (worked.kind === "refused") throw new TaskError(worked.code, worked.message);
    // A task that never was in a queue is no worker's business: it reads as one that is not there.
    if (worked.task.runs.in !== "queue") throw notFound();
    if (worked.kind === "returned") await drive?.wake(worked.task);
    return toWorkAnswer(worked, act.lease);
  }

  #renewal(leaseMs: number | undefined): { readonly until?: number } {
    return leaseMs === undefined ? {} : { until: this.#parts.clock() + leaseMs };
  }
}
