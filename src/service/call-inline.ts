import type { Clock } from "../clock";
import { TaskError } from "../task/errors";
import type { JsonObject, JsonText } from "../task/json";
import type { ClientFacts, InputRequest, Progress, RpcError } from "../task/task";
import { missingCapabilities, toInputRequest } from "../tool/asks";
import type { Answers, Ask, CallContext, LogLevel, TaskContext } from "../tool/context";
import { ToolError, type ToolResult } from "../tool/define-tool";
import type { RegisteredTool } from "../tool/registry";
import { checkAnswer } from "./check-answer";
import { endingOf, endingOfThrown, swallowed, type Ending } from "./ending";
import type { Limits } from "./limits";
import { aborted, isSuspension, pause, RunAborted, Suspension } from "./suspension";
import type { OpenQuestion } from "./task-store";

export type InlineRequest = {
  readonly tool: RegisteredTool;
  readonly arguments: JsonObject;
  readonly prepared?: unknown;
  readonly client: ClientFacts;
  /** Answers by wire key: those of earlier rounds and those of this one. A malformed or missing one is asked again. */
  readonly answers: Readonly<Record<string, JsonText>>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** What went wrong inside the tool, for the operator's log only. */
  readonly onFault?: (fault: unknown) => void;
  readonly onLog?: (level: LogLevel, message: string, data?: JsonObject) => void;
};

export type InlineOutcome =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "error"; readonly error: RpcError }
  /** Nothing is kept: the caller repeats the call with the answers. `answered` are the usable ones so far. */
  | {
      readonly kind: "input_required";
      readonly questions: readonly { readonly key: string; readonly request: InputRequest }[];
      readonly answered: Readonly<Record<string, JsonText>>;
    };

/**
 * A plain call: the tool runs inside the request and nothing is stored. Throws `capability_missing` when the tool asks
 * what the client did not declare, and the signal's reason when the client has left.
 */
export async function callInline(request: InlineRequest): Promise<InlineOutcome> {
  const call = new InlineCall(request);
  const parsed = request.tool.parseArguments(request.arguments);
  if (!parsed.ok) return outcomeOf(endingOfThrown(request.tool, new TaskError("invalid", parsed.message)));
  const ran = await call.carryOut(() => request.tool.tool.run(parsed.value, call.taskContext()));
  if (ran.kind === "input_required") return ran;
  return outcomeOf(
    ran.kind === "returned" ? endingOf(request.tool, ran.value, request.limits.resultLimitBytes) : ran.ending,
  );
}

/** The same for a tool's `prepare`, before any task exists. */
export async function prepareCall(request: InlineRequest): Promise<PreparedOutcome> {
  const { prepare } = request.tool.tool;
  if (!prepare) return { kind: "prepared", prepared: undefined };
  const call = new InlineCall(request);
  const parsed = request.tool.parseArguments(request.arguments);
  if (!parsed.ok) return outcomeOf(endingOfThrown(request.tool, new TaskError("invalid", parsed.message)));
  const ran = await call.carryOut(() => prepare.call(request.tool.tool, parsed.value, call.callContext()));
  if (ran.kind === "input_required") return ran;
  return ran.kind === "returned" ? { kind: "prepared", prepared: ran.value } : outcomeOf(ran.ending);
}

export type PreparedOutcome = { readonly kind: "prepared"; readonly prepared: unknown } | InlineOutcome;

type Ran =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "failed"; readonly ending: Ending }
  | Extract<InlineOutcome, { kind: "input_required" }>;

class InlineCall {
  readonly #request: InlineRequest;
  readonly #uses = new Map<string, number>();
  readonly #steps = new Map<string, Promise<unknown>>();
  readonly #questions: OpenQuestion[] = [];
  readonly #answered: Record<string, JsonText> = Object.create(null) as Record<string, JsonText>;
  readonly #timeout = new AbortController();
  readonly #signal: AbortSignal;
  #closed = false;

  constructor(request: InlineRequest) {
    this.#request = request;
    this.#signal = AbortSignal.any([request.signal, this.#timeout.signal]);
  }

  async carryOut(work: () => unknown): Promise<Ran> {
    const { tool, signal } = this.#request;
    const abort = aborted(this.#signal);
    const timer = setTimeout(() => this.#timeout.abort(new RunAborted("timeout")), this.#timeoutMs());
    try {
      const value = await Promise.race([work(), abort.promise]);
      return this.#questions.length === 0 ? { kind: "returned", value } : { kind: "failed", ending: swallowed(tool) };
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      if (this.#timeout.signal.aborted) return { kind: "failed", ending: endingOfThrown(tool, this.#tooLong()) };
      if (thrown instanceof Suspension) {
        return { kind: "input_required", questions: this.#questions, answered: this.#answered };
      }
      if (isSuspension(thrown)) return { kind: "failed", ending: swallowed(tool) };
      if (thrown instanceof TaskError && thrown.code === "capability_missing") throw thrown;
      const ending = endingOfThrown(tool, thrown);
      if (ending.fault !== undefined) this.#request.onFault?.(ending.fault);
      return { kind: "failed", ending };
    } finally {
      clearTimeout(timer);
      abort.release();
      this.#closed = true;
    }
  }

  #timeoutMs(): number {
    return this.#request.tool.tool.timeoutMs ?? this.#request.limits.timeoutMs;
  }

  #tooLong(): ToolError {
    const { name } = this.#request.tool.tool;
    return new ToolError(
      `The tool "${name}" ran longer than a plain call may (${this.#timeoutMs()} ms) and was stopped.`,
    );
  }

  callContext(): CallContext {
    const { client, fetch } = this.#request;
    const signal = this.#signal;
    return {
      client,
      signal,
      fetch: (url, init) => fetch(url, { signal, ...init }),
      ask: async (questions) => this.#ask(questions),
    };
  }

  taskContext(): TaskContext {
    const { prepared, onProgress, onLog, clock } = this.#request;
    return {
      ...this.callContext(),
      id: null,
      prepared,
      attempt: 1,
      progress: (progress) => void (this.#closed || onProgress?.(progress)),
      log: (level, message, data) => void (this.#closed || onLog?.(level, message, data)),
      step: (key, fn) => this.#step(key, fn),
      sleep: (until) =>
        pause(Math.max(0, (typeof until === "number" ? until : until.getTime()) - clock()), this.#signal),
    };
  }

  /** Nothing outlives the call, but a key still names one value. */
  async #step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const known = this.#steps.get(key);
    if (known) return known as Promise<T>;
    const started = (async () => fn())();
    this.#steps.set(key, started);
    started.catch(() => this.#steps.delete(key));
    return started;
  }

  #ask<Q extends Readonly<Record<string, Ask>>>(questions: Q): Answers<Q> {
    const answers = Object.create(null) as Record<string, unknown>;
    const open: OpenQuestion[] = [];
    for (const [authorKey, asked] of Object.entries(questions)) {
      const missing = missingCapabilities([asked.kind], this.#request.client.capabilities);
      if (missing) {
        const message = `The tool needs to ask for ${asked.kind}, which the client did not declare.`;
        throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
      }
      const use = (this.#uses.get(authorKey) ?? 0) + 1;
      this.#uses.set(authorKey, use);
      const key = use === 1 ? authorKey : `${authorKey}-${use}`;
      const request = toInputRequest(authorKey, asked);
      const given = Object.hasOwn(this.#request.answers, key) ? this.#request.answers[key] : undefined;
      const checked = given === undefined ? null : checkAnswer(request, JSON.parse(given));
      if (checked?.ok) {
        answers[authorKey] = checked.value;
        this.#answered[key] = JSON.stringify(checked.value);
        continue;
      }
      open.push({ key, request: checked ? withReason(request, checked.message) : request });
    }
    if (open.length === 0) return answers as Answers<Q>;
    this.#questions.push(...open);
    throw new Suspension();
  }
}

/** The client does not remember an earlier round, so the same key may carry the reason. */
function withReason(request: InputRequest, reason: string): InputRequest {
  const { message } = request.params;
  if (typeof message !== "string") return request;
  return {
    ...request,
    params: { ...request.params, message: `${message}\n\nThe last answer could not be used: ${reason}` },
  };
}

function outcomeOf({ outcome }: Ending): InlineOutcome {
  if (outcome.kind === "error") return outcome;
  if (outcome.kind === "rejected") return { kind: "error", error: { code: -32603, message: outcome.reason } };
  return { kind: "result", result: JSON.parse(outcome.result) as ToolResult };
}
