import type { Clock } from "../clock";
import { TaskError } from "../task/errors";
import type { JsonObject, JsonText } from "../task/json";
import { explained } from "../task/questions";
import type { ClientFacts, Progress, RpcError } from "../task/task";
import { requireAsks, toInputRequest } from "../tool/asks";
import type { Answers, Ask, CallContext, LogLevel, TaskContext } from "../tool/context";
import { ToolError, type ToolResult } from "../tool/define-tool";
import type { RegisteredTool } from "../tool/registry";
import { checkAnswer } from "./check-answer";
import { endingOf, endingOfThrown, swallowed, type Ending } from "./ending";
import type { Limits } from "./limits";
import { isSuspension, pause, RunAborted, Suspension, unlessAborted } from "./suspension";
import type { OpenQuestion } from "./task-store";
import { textOf } from "./thrown";

export type InlineRequest = {
  readonly tool: RegisteredTool;
  readonly arguments: JsonObject;
  readonly prepared?: unknown;
  readonly client: ClientFacts;
  /** Answers by wire key: those of earlier rounds and those of this one. A malformed or missing one is asked again. */
  readonly answers: Readonly<Record<string, JsonText>>;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Also the operator's log gets it. */
  readonly onLog?: (level: LogLevel, message: string, data?: JsonObject) => void;
  readonly deps: {
    readonly config: { readonly limits: Limits };
    readonly clock: Clock;
    readonly fetch: CallContext["fetch"];
    readonly log?: (line: object) => void;
  };
};

export type InlineOutcome =
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "error"; readonly error: RpcError }
  /** Nothing is kept: the caller repeats the call with the answers. `answered` are the usable ones so far. */
  | {
      readonly kind: "input_required";
      readonly questions: OpenQuestion[];
      readonly answered: Record<string, JsonText>;
    };

type Returned = { readonly kind: "returned"; readonly value: unknown };

/**
 * A plain call: the tool runs inside the request and nothing is stored. Throws `capability_missing` when the tool asks
 * what the client did not declare, and the signal's reason when the client has left.
 */
export async function callInline(request: InlineRequest): Promise<InlineOutcome> {
  const { tool, deps } = request;
  const ran = await carryOut(request, (args, context) => tool.tool.run(args, context));
  return ran.kind === "returned" ? outcomeOf(endingOf(tool, ran.value, deps.config.limits.resultLimitBytes)) : ran;
}

/** The same for a tool's `prepare`, before any task exists: with what it returned. */
export async function prepareCall(request: InlineRequest): Promise<Returned | InlineOutcome> {
  const { tool } = request.tool;
  if (!tool.prepare) return { kind: "returned", value: undefined };
  return carryOut(request, (args, { client, signal, fetch, ask }) =>
    tool.prepare?.(args, { client, signal, fetch, ask }),
  );
}

async function carryOut(
  request: InlineRequest,
  work: (args: unknown, context: TaskContext) => unknown,
): Promise<Returned | InlineOutcome> {
  const { tool, signal, deps } = request;
  const { name, timeoutMs = deps.config.limits.timeoutMs } = tool.tool;
  const asked = {
    kind: "input_required",
    questions: [],
    answered: Object.create(null),
  } as const satisfies InlineOutcome;
  const timeout = new AbortController();
  const closed = new AbortController();
  const stop = AbortSignal.any([signal, timeout.signal]);
  const timer = setTimeout(() => timeout.abort(new RunAborted("timeout")), timeoutMs);
  try {
    const parsed = tool.parseArguments(request.arguments);
    if (!parsed.ok) throw new TaskError("invalid", parsed.message);
    const context = contextOf(request, asked, stop, closed.signal);
    const value = await unlessAborted(stop, (async () => work(parsed.value, context))());
    return asked.questions.length === 0 ? { kind: "returned", value } : outcomeOf(swallowed(tool));
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    if (timeout.signal.aborted) {
      const message = `The tool "${name}" ran longer than a plain call may (${timeoutMs} ms) and was stopped.`;
      return outcomeOf(endingOfThrown(tool, new ToolError(message)));
    }
    if (thrown instanceof Suspension) return asked;
    if (isSuspension(thrown)) return outcomeOf(swallowed(tool));
    if (thrown instanceof TaskError && thrown.code === "capability_missing") throw thrown;
    const ending = endingOfThrown(tool, thrown);
    if (ending.fault !== undefined)
      deps.log?.({ level: "error", message: "The tool failed.", tool: name, error: textOf(ending.fault) });
    return outcomeOf(ending);
  } finally {
    clearTimeout(timer);
    closed.abort();
  }
}

function contextOf(
  request: InlineRequest,
  asked: Extract<InlineOutcome, { kind: "input_required" }>,
  signal: AbortSignal,
  closed: AbortSignal,
): TaskContext {
  const { tool, client, prepared, answers, onProgress, onLog, deps } = request;
  const { clock, fetch, log } = deps;
  const { name } = tool.tool;
  const uses = new Map<string, number>();
  const steps = new Map<string, Promise<unknown>>();
  return {
    id: null,
    client,
    prepared,
    attempt: 1,
    signal,
    fetch: (url, init) => fetch(url, { signal, ...init }),
    progress: (progress) => void (closed.aborted || onProgress?.(progress)),
    log(level, message, data) {
      if (closed.aborted) return;
      log?.({ ...data, level, message, tool: name });
      onLog?.(level, message, data);
    },
    /** Nothing outlives the call, but a key still names one value. */
    async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
      const known = steps.get(key);
      if (known) return known as Promise<T>;
      const started = (async () => fn())();
      steps.set(key, started);
      started.catch(() => steps.delete(key));
      return started;
    },
    sleep: (until) => pause(Math.max(0, Number(until) - clock()), signal),
    async ask<Q extends Readonly<Record<string, Ask>>>(questions: Q): Promise<Answers<Q>> {
      const usable = Object.create(null) as Record<string, unknown>;
      const open: OpenQuestion[] = [];
      for (const [authorKey, ask] of Object.entries(questions)) {
        requireAsks(name, [ask.kind], client.capabilities);
        const use = (uses.get(authorKey) ?? 0) + 1;
        uses.set(authorKey, use);
        const key = use === 1 ? authorKey : `${authorKey}-${use}`;
        const wanted = toInputRequest(authorKey, ask);
        const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
        const checked = given === undefined ? null : checkAnswer(wanted, JSON.parse(given));
        if (checked?.ok) {
          usable[authorKey] = checked.value;
          asked.answered[key] = JSON.stringify(checked.value);
          continue;
        }
        // The client does not remember an earlier round, so the same key may carry the reason.
        open.push({ key, request: checked ? explained(wanted, checked.message) : wanted });
      }
      if (open.length === 0) return usable as Answers<Q>;
      asked.questions.push(...open);
      throw new Suspension();
    },
  };
}

function outcomeOf({ outcome }: Ending): InlineOutcome {
  if (outcome.kind === "error") return outcome;
  if (outcome.kind === "rejected") return { kind: "error", error: { code: -32603, message: outcome.reason } };
  return { kind: "result", result: JSON.parse(outcome.result) as ToolResult };
}
