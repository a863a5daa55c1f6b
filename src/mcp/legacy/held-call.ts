import type { Conversation, Exchange } from "../../json-rpc";
import { holdTask } from "../../service/bridge";
import type { TaskSnapshot } from "../../service/task-store";
import type { JsonText } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import { toHandle } from "../handle-text";
import { idempotencyKeyOf } from "../idempotency";
import { resultOf } from "../outcome";
import { reportProgress, speakTo } from "../report";
import type { McpDeps } from "../wing";
import { clientFacts, type Caller } from "./call";
import { toResultText } from "./ended";
import { afterPrepare, type ToolCall } from "./in-request";
import { asker } from "./questions";
import { primeStream, type Resumable } from "./resume";

/**
 * A client without tasks waits for one (design decision 14). Its leaving changes nothing about the work. Nor does
 * `notifications/cancelled`, which the official clients send when they give up waiting: only its own method cancels a
 * task (decision 15).
 */
export function callHeld(toolCall: ToolCall): Conversation {
  const { call, params } = toolCall;
  const run = (exchange: Exchange): Promise<JsonText> =>
    afterPrepare(toolCall, exchange, async (prepared) => {
      const { id } = await startTask(toolCall, prepared, { ...clientFacts(call), bridged: true });
      const progressToken = params._meta?.progressToken;
      return hold(call, exchange, { request: call.id, task: id, of: "call", progressToken });
    });
  return { stream: "when_slow", waits: true, run };
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
  const task = await holdTask(deps.tasks, principal, resumable.task, {
    waitMs: deps.config.inlineWaitMs,
    signal: exchange.signal,
    onProgress: reportProgress(speakTo(exchange), resumable.progressToken),
    ...asking(caller, exchange, resumable.task),
  });
  const result =
    task.stage.phase === "settled" ? resultOf(task.stage.outcome) : toHandle(task, await hasOutput(deps, task));
  return toResultText(revision, result);
}

/** Of a tool that runs elsewhere the task knows, whatever became of the tool since it was called. */
const hasOutput = async ({ tools }: McpDeps, { runs, tool }: TaskSnapshot): Promise<boolean> =>
  runs.in === "queue" ? runs.output !== null : (await tools.find(tool))?.outputSchema !== undefined;

/** The task's questions go out on this stream, as long as the client may be asked all of them. */
export const asking = (caller: Caller, exchange: Exchange, task: string) =>
  exchange.streams ? ({ deliver: 2, onDeliver: asker(caller, exchange, { task }) } as const) : {};
