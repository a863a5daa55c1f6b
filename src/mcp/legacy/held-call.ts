import { Withdrawn, type Conversation, type Exchange } from "../../json-rpc";
import { holdTask } from "../../service/bridge";
import type { TaskSnapshot } from "../../service/task-store";
import type { JsonText } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import { toHandle } from "../handle-text";
import { idempotencyKeyOf } from "../idempotency";
import { reportProgress, speakTo } from "../report";
import { clientFacts, type Caller } from "./call";
import { CallLine } from "./call-line";
import { toEndedTask, toResultText } from "./ended";
import { inRequest, type ToolCall } from "./in-request";
import { asker } from "./questions";
import { primeStream, type Resumable } from "./resume";

/** A client without tasks waits for one (design decision 14). Its leaving changes nothing about the work. */
export function callHeld(toolCall: ToolCall): Conversation {
  const { call, params, tool } = toolCall;
  const begin = async (exchange: Exchange, prepared?: unknown): Promise<JsonText> => {
    const { id } = await startTask(toolCall, prepared, { ...clientFacts(call), bridged: true });
    const resumable = { request: call.id, task: id, of: "call", progressToken: params._meta?.progressToken } as const;
    // With a key it is a task from the start, and only its own method cancels it (design decision 15).
    const keyed = idempotencyKeyOf(call.headers, params._meta) !== undefined;
    return keyed ? hold(call, exchange, resumable) : holdUntilWithdrawn(toolCall, exchange, resumable);
  };
  const run = (exchange: Exchange): Promise<JsonText> =>
    tool.tool.prepare ? inRequest(toolCall, exchange, ({ prepared }) => begin(exchange, prepared)) : begin(exchange);
  return { stream: "when_slow", waits: true, run };
}

/** Until its handle is out, the call is the client's to take back with `notifications/cancelled`. */
async function holdUntilWithdrawn({ call }: ToolCall, exchange: Exchange, resumable: Resumable): Promise<JsonText> {
  const line = new CallLine(call, exchange);
  try {
    return await hold(call, { ...exchange, signal: AbortSignal.any([exchange.signal, line.signal]) }, resumable);
  } catch (thrown) {
    if (!line.signal.aborted) throw thrown;
    await call.deps.tasks.cancel(call.principal, resumable.task);
    throw new Withdrawn();
  } finally {
    line.close();
  }
}

export async function startTask(
  { call, params, tool }: ToolCall,
  prepared: unknown,
  client: ClientFacts,
  ttlMs?: number | null,
): Promise<TaskSnapshot> {
  const idempotencyKey = idempotencyKeyOf(call.headers, params._meta);
  const { task } = await call.deps.tasks.start({
    principal: call.principal,
    tool,
    arguments: params.arguments ?? {},
    prepared,
    client,
    origin: `mcp/${call.revision.version}`,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  });
  return task;
}

/** The task's result if it comes soon, else what the model can do about it. */
export async function hold(caller: Caller, exchange: Exchange, resumable: Resumable): Promise<JsonText> {
  const { deps, principal, revision } = caller;
  await primeStream(caller, exchange, resumable);
  const { task } = await holdTask(deps.tasks, principal, resumable.task, {
    waitMs: deps.config.inlineWaitMs,
    signal: exchange.signal,
    onProgress: reportProgress(speakTo(exchange), resumable.progressToken),
    ...(exchange.streams ? { restAt: "settled", ...asking(caller, exchange, resumable.task) } : { restAt: "input" }),
  });
  return task.stage.phase === "settled"
    ? toEndedTask(revision, task.stage.outcome)
    : toResultText(revision, toHandle(task, deps.registry.get(task.tool)));
}

/** The task's questions go out on this stream, as long as the client may be asked all of them. */
export const asking = (caller: Caller, exchange: Exchange, task: string) => ({
  deliver: 2 as const,
  onDeliver: asker(caller, exchange, { task }),
});
