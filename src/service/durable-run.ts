import type { Clock } from "../clock";
import { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import type { AskedQuestion } from "../task/questions";
import type { InputRequest, Task } from "../task/task";
import type { Slept, TaskEvent } from "../task/transition";
import { requireAsks, toInputRequest } from "../tool/asks";
import type { Answers, Ask, LogLevel, TaskContext } from "../tool/context";
import { factsOf } from "./audit";
import { jsonText } from "./ending";
import type { Limits } from "./limits";
import { ProgressWriter } from "./progress-writer";
import { QuestionBook } from "./question-book";
import { RunAborted, Suspension } from "./suspension";
import { longestWait, raisedTtl } from "./ttl";

/** All of a task's steps must fit into memory when it is loaded. Bytes, as UTF-16 length. */
const MAX_STEPS_LENGTH = 33_554_432;
/** To a Workflow they travel in one message, with all else of the task; no message may be larger than 32 MiB. */
const MAX_CARRIED_LENGTH = 8_388_608;

/** The last instant a Date can hold, Unix ms. */
const LAST_INSTANT = 8_640_000_000_000_000;

/** What a run needs from whoever holds the task. */
export type RunHolder = {
  /** The task as it stands; where it is kept elsewhere, as last heard. */
  readonly task: () => Task;
  /**
   * Commits an event of this run, unless the run is no longer wanted. Where the task is kept elsewhere that takes time:
   * events are committed in the order they were emitted, and none of them rejects.
   */
  readonly emit: (event: TaskEvent) => Promise<unknown> | boolean;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly fetch: TaskContext["fetch"];
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
  /** Carries out the work of a step, and ends as it does; left out, it is simply done. */
  readonly step?: (<T>(key: string, work: () => Promise<T>) => Promise<T>) | undefined;
};

/** The durable verbs of one run. */
export class DurableRun {
  readonly #holder: RunHolder;
  readonly #signal: AbortSignal;
  readonly #steps = new Map<string, Promise<unknown>>();
  readonly #book = new QuestionBook();
  readonly #progress: ProgressWriter;
  readonly #slept: Slept[] = [];
  #asking = false;
  #sleeps = 0;
  #closed = false;

  constructor(holder: RunHolder, signal: AbortSignal) {
    this.#holder = holder;
    this.#signal = signal;
    this.#progress = new ProgressWriter((progress) =>
      this.#closed || signal.aborted ? undefined : holder.emit({ type: "progressed", at: holder.clock(), progress }),
    );
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
      progress: (progress) => void (this.#closed || this.#progress.report(progress)),
      log: (level, message, data) => this.#holder.log(level, message, { ...data, ...factsOf(task) }),
      step: (key, fn) => this.#step(key, fn),
      sleep: async (until) => this.#sleep(typeof until === "number" ? until : until.getTime()),
      ask: async (questions, options) => this.#ask(questions, options?.timeoutMs),
    };
  }

  /** The task's first questions, so many of them, were asked before: nothing that is asked from here on is one of them. */
  passOver(count: number): void {
    this.#book.passOver(this.#holder.task().questions.slice(0, count));
  }

  suspended(): boolean {
    return this.#asking || this.#slept.length > 0;
  }

  /** Everything this run waits for. Questions come first: a sleep beside them keeps its end, but wakes nobody. */
  suspension(): Extract<TaskEvent, { type: "asked" | "slept" }> {
    const at = this.#holder.clock();
    const sleeps = this.#slept;
    const questions = this.#book.fresh();
    const ends = this.#asking ? questions.map(({ deadline }) => deadline) : sleeps.map(({ until }) => until);
    const ttlMs = this.#raisedTtl(Math.max(at, ...ends), this.#asking ? "question" : "sleep");
    return this.#asking ? { type: "asked", at, questions, sleeps, ttlMs } : { type: "slept", at, sleeps, ttlMs };
  }

  /** Resolves when no step is going on. */
  async drain(): Promise<void> {
    while (this.#steps.size > 0) await Promise.allSettled(this.#steps.values());
  }

  /** Writes the newest progress that is still held back; from now on the context is dead. Resolves when all is stored. */
  async close(): Promise<void> {
    this.#progress.flush();
    this.#closed = true;
    await this.#progress.settled();
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
    const { step } = this.#holder;
    const work = (): Promise<T> => this.#runStep(key, fn);
    const started = (step ? step(key, work) : work()).finally(() => this.#steps.delete(key));
    this.#steps.set(key, started);
    return started;
  }

  async #runStep<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const value = jsonText(await fn(), this.#holder.limits.resultLimitBytes, `What the step "${key}" returned`);
    this.#live();
    let length = value.length;
    for (const other of this.#holder.task().steps.values()) length += other.length;
    const most = this.#holder.step ? MAX_CARRIED_LENGTH : MAX_STEPS_LENGTH;
    if (length > most) {
      throw new TaskError("too_large", `All steps of a task together may hold ${most} characters of JSON.`);
    }
    this.#progress.flush();
    await this.#holder.emit({ type: "stepped", at: this.#holder.clock(), key, value });
    // It may have been stopped meanwhile, perhaps because the value could not be stored: what follows must not be done.
    if (this.#signal.aborted) throw this.#signal.reason as Error;
    // What is stored is what later runs will get, so this run gets the same.
    return JSON.parse(value) as T;
  }

  #sleep(until: number): void {
    this.#live();
    if (!(Math.abs(until) <= LAST_INSTANT)) {
      throw new TaskError("invalid", "task.sleep needs a time: Unix ms, or a valid Date.");
    }
    const ordinal = this.#sleeps;
    this.#sleeps += 1;
    const end = this.#holder.task().sleeps[ordinal] ?? Math.ceil(until);
    if (this.#holder.clock() >= end) return;
    this.#raisedTtl(end, "sleep");
    this.#slept.push({ ordinal, until: end });
    throw new Suspension();
  }

  #ask<Q extends Readonly<Record<string, Ask>>>(questions: Q, timeoutMs = this.#longestWait()): Answers<Q> {
    this.#live();
    const task = this.#holder.task();
    const deadline = Math.ceil(this.#holder.clock() + timeoutMs);
    if (!(timeoutMs > 0 && deadline <= LAST_INSTANT)) {
      throw new TaskError("invalid", "The timeoutMs of task.ask must be a number of ms above 0.");
    }
    // No prototype: a key may be any text, `__proto__` too.
    const answers = Object.create(null) as Record<string, unknown>;
    const fresh: AskedQuestion[] = [];
    let open = false;
    for (const [authorKey, asked] of Object.entries(questions)) {
      if (!task.client.bridged) requireAsks(task.tool, [asked.kind], task.client.capabilities);
      // Through JSON, as it will be stored: whatever cannot go there fails here, at its author's.
      const request = JSON.parse(JSON.stringify(toInputRequest(authorKey, asked))) as InputRequest;
      const question = this.#book.find(task, authorKey, request);
      if (question?.state.kind === "answered") {
        answers[authorKey] = JSON.parse(question.state.answer);
        continue;
      }
      open = true;
      if (question) continue;
      this.#raisedTtl(deadline, "question");
      fresh.push({ authorKey, occurrence: this.#book.nextOccurrence(task, authorKey), request, deadline });
    }
    if (!open) return answers as Answers<Q>;
    this.#book.add(fresh);
    this.#asking = true;
    throw new Suspension();
  }

  #longestWait(): number {
    return longestWait(this.#holder.task(), this.#holder.limits, this.#holder.clock());
  }

  #raisedTtl(until: number, verb: "question" | "sleep"): number | null {
    return raisedTtl(this.#holder.task(), this.#holder.limits, until, verb);
  }
}
