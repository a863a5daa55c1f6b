import type { Clock } from "../clock";
import { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import { standing, type AskedQuestion } from "../task/questions";
import type { Progress, Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import { missingCapabilities, toInputRequest } from "../tool/asks";
import type { Answers, Ask, LogLevel, TaskContext } from "../tool/context";
import type { RegisteredTool } from "../tool/registry";
import { endingOf, endingOfThrown, jsonText, swallowed, type Ending } from "./ending";
import type { Limits } from "./limits";
import { aborted, RunAborted, Suspension } from "./suspension";

/** Progress is written at most this often; the newest is never lost. */
const PROGRESS_EVERY_MS = 250;

/** A line for people, written with every report. */
const MAX_PROGRESS_LENGTH = 1000;

/** What a run needs from whoever holds the task. */
export type RunHolder = {
  /** The task as it stands. */
  readonly task: () => Task;
  /** Commits an event of this run; false when it changed nothing because the run is no longer wanted. */
  readonly emit: (event: TaskEvent) => boolean;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly fetch: TaskContext["fetch"];
  readonly log: (level: LogLevel, message: string, data?: JsonObject) => void;
};

export type RunEnd =
  | { readonly kind: "ended"; readonly ending: Ending }
  /** The event says what it waits for. */
  | { readonly kind: "suspended"; readonly event: Extract<TaskEvent, { type: "asked" | "slept" }> }
  | { readonly kind: "aborted"; readonly cause: RunAborted["cause"] };

/** One run of a task's tool, from the top: what is settled already comes back, the rest is done now. */
export async function runTool(tool: RegisteredTool, holder: RunHolder, signal: AbortSignal): Promise<RunEnd> {
  const run = new DurableRun(holder, signal);
  const task = holder.task();
  const parsed = tool.parseArguments(JSON.parse(task.arguments) as JsonObject);
  if (!parsed.ok) {
    return {
      kind: "ended",
      ending: endingOfThrown(
        tool,
        new TaskError("invalid", `The task's arguments no longer fit the tool: ${parsed.message}`),
      ),
    };
  }
  const abort = aborted(signal);
  try {
    const returned = await Promise.race([tool.tool.run(parsed.value, run.context()), abort.promise]);
    return {
      kind: "ended",
      ending: run.suspended() ? swallowed(tool) : endingOf(tool, returned, holder.limits.resultLimitBytes),
    };
  } catch (thrown) {
    if (signal.aborted)
      return { kind: "aborted", cause: signal.reason instanceof RunAborted ? signal.reason.cause : "settled" };
    if (run.suspended())
      return thrown instanceof Suspension
        ? { kind: "suspended", event: run.suspension() }
        : { kind: "ended", ending: swallowed(tool) };
    return { kind: "ended", ending: endingOfThrown(tool, thrown) };
  } finally {
    abort.release();
    run.close();
  }
}

class DurableRun {
  readonly #holder: RunHolder;
  readonly #signal: AbortSignal;
  readonly #asks = new Map<string, number>();
  readonly #steps = new Map<string, Promise<unknown>>();
  readonly #asked: AskedQuestion[] = [];
  #asking = false;
  #slept: { ordinal: number; until: number } | null = null;
  #sleeps = 0;
  #closed = false;
  #progress: Progress | null = null;
  #progressTimer: ReturnType<typeof setTimeout> | null = null;
  #progressAt = -Infinity;

  constructor(holder: RunHolder, signal: AbortSignal) {
    this.#holder = holder;
    this.#signal = signal;
  }

  context(): TaskContext {
    const task = this.#holder.task();
    return {
      id: task.id,
      client: task.client,
      signal: this.#signal,
      prepared: task.prepared === null ? undefined : (JSON.parse(task.prepared) as unknown),
      attempt: task.attempts + 1,
      fetch: (url, init) => this.#holder.fetch(url, { signal: this.#signal, ...init }),
      progress: (progress) => this.#report(progress),
      log: (level, message, data) => this.#holder.log(level, message, data),
      step: (key, fn) => this.#step(key, fn),
      sleep: async (until) => this.#sleep(typeof until === "number" ? until : until.getTime()),
      ask: async (questions, options) => this.#ask(questions, options?.timeoutMs),
    };
  }

  suspended(): boolean {
    return this.#asking || this.#slept !== null;
  }

  suspension(): Extract<TaskEvent, { type: "asked" | "slept" }> {
    const at = this.#holder.clock();
    if (this.#asking) {
      const last = Math.max(at, ...this.#asked.map((question) => question.deadline));
      return { type: "asked", at, questions: this.#asked, ttlMs: this.#raisedTtl(last, "question") };
    }
    const { ordinal, until } = this.#slept ?? { ordinal: 0, until: at };
    return { type: "slept", at, ordinal, until, ttlMs: this.#raisedTtl(until, "sleep") };
  }

  /** Writes the newest progress that is still held back; after this the context is dead. */
  close(): void {
    this.#flush();
    this.#closed = true;
  }

  #live(): void {
    if (this.#signal.aborted) throw this.#signal.reason as Error;
    if (this.#closed) throw new RunAborted("settled");
  }

  async #step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    this.#live();
    const stored = this.#holder.task().steps.get(key);
    if (stored !== undefined) return JSON.parse(stored) as T;
    const running = this.#steps.get(key);
    if (running) return running as Promise<T>;
    const started = this.#runStep(key, fn);
    this.#steps.set(key, started);
    try {
      return await started;
    } finally {
      this.#steps.delete(key);
    }
  }

  async #runStep<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const value = jsonText(await fn(), this.#holder.limits.resultLimitBytes, `What the step "${key}" returned`);
    this.#live();
    this.#flush();
    this.#holder.emit({ type: "stepped", at: this.#holder.clock(), key, value });
    // What is stored is what later runs will get, so this run gets the same.
    return JSON.parse(value) as T;
  }

  #sleep(until: number): void {
    this.#live();
    if (!Number.isFinite(until)) throw new TaskError("invalid", "task.sleep needs a time in Unix ms, or a Date.");
    const ordinal = this.#sleeps;
    this.#sleeps += 1;
    const end = this.#holder.task().sleeps[ordinal] ?? Math.ceil(until);
    if (this.#holder.clock() >= end) return;
    this.#raisedTtl(end, "sleep");
    this.#slept ??= { ordinal, until: end };
    throw new Suspension();
  }

  #ask<Q extends Readonly<Record<string, Ask>>>(questions: Q, timeoutMs = this.#longestWait()): Answers<Q> {
    this.#live();
    const task = this.#holder.task();
    const deadline = this.#holder.clock() + timeoutMs;
    // No prototype: a key may be any text, `__proto__` too.
    const answers = Object.create(null) as Record<string, unknown>;
    let open = false;
    for (const [authorKey, asked] of Object.entries(questions)) {
      if (missingCapabilities([asked.kind], task.client.capabilities)) {
        throw new TaskError(
          "capability_missing",
          `The tool asked for ${asked.kind}, which the client did not declare.`,
        );
      }
      const occurrence = (this.#asks.get(authorKey) ?? 0) + 1;
      this.#asks.set(authorKey, occurrence);
      const question = standing(task.questions, authorKey, occurrence);
      if (question?.state.kind === "answered") {
        answers[authorKey] = JSON.parse(question.state.answer);
        continue;
      }
      open = true;
      if (!question) {
        this.#raisedTtl(deadline, "question");
        this.#asked.push({ authorKey, occurrence, request: toInputRequest(authorKey, asked), deadline });
      }
    }
    if (!open) return answers as Answers<Q>;
    this.#asking = true;
    throw new Suspension();
  }

  /** `QUESTION_TTL_MS`, or what the longest ttl leaves of it. */
  #longestWait(): number {
    const { questionTtlMs, maxTtlMs, minTtlMs } = this.#holder.limits;
    const { createdAt, ttlMs } = this.#holder.task();
    if (ttlMs === null || maxTtlMs === null) return questionTtlMs;
    return Math.min(questionTtlMs, createdAt + Math.max(ttlMs, maxTtlMs) - minTtlMs - this.#holder.clock());
  }

  /**
   * The ttl that reaches past the wait, with room for a run after it and for fetching what that came to. Refused where
   * even the wait and the fetching would exceed the maximum.
   */
  #raisedTtl(until: number, verb: "question" | "sleep"): number | null {
    const { createdAt, ttlMs } = this.#holder.task();
    const { maxTtlMs, minTtlMs, timeoutMs } = this.#holder.limits;
    if (ttlMs === null) return null;
    const needed = until + minTtlMs - createdAt;
    if (maxTtlMs !== null && needed > maxTtlMs && needed > ttlMs) {
      throw new TaskError(
        "invalid",
        `A ${verb} that long would keep the task ${needed} ms, more than TASK_MAX_TTL_MS (${maxTtlMs}) allows.`,
      );
    }
    return Math.max(ttlMs, Math.min(needed + timeoutMs, maxTtlMs ?? Infinity));
  }

  #report(progress: Progress): void {
    if (this.#closed || this.#signal.aborted) return;
    const { message } = progress;
    this.#progress = message === undefined ? progress : { ...progress, message: message.slice(0, MAX_PROGRESS_LENGTH) };
    if (this.#progressTimer !== null) return;
    const wait = this.#progressAt + PROGRESS_EVERY_MS - Date.now();
    if (wait <= 0) this.#flush();
    else this.#progressTimer = setTimeout(() => this.#flush(), wait);
  }

  #flush(): void {
    if (this.#progressTimer !== null) clearTimeout(this.#progressTimer);
    this.#progressTimer = null;
    const progress = this.#progress;
    this.#progress = null;
    if (progress === null || this.#closed || this.#signal.aborted) return;
    this.#progressAt = Date.now();
    this.#holder.emit({ type: "progressed", at: this.#holder.clock(), progress });
  }
}
