import type { Answer, Exchange } from "../../json-rpc";
import { callInline, prepareCall, type InlineOutcome } from "../../service/call-inline";
import type { JsonText } from "../../task/json";
import { requireAsks } from "../../tool/asks";
import type { RegisteredTool } from "../../tool/registry";
import { idempotencyKeyOf } from "../idempotency";
import { toolError, toThrown } from "../outcome";
import { readParams } from "../schemas";
import { helperNamed, toolNamed } from "../tool-named";
import { clientFacts, type Call } from "./call";
import { callHelper } from "./call-helper";
import { checkParamHeaders } from "./headers";
import { holdCall } from "./held-call";
import { reportTo } from "./report";
import { toResult } from "./results";
import { openRounds } from "./rounds";
import { CallToolParams } from "./schemas";
import { requireTasks, tasksUsable } from "./tasks-extension";
import { inputRequired, startTask, type Plan, type ToolCall } from "./tool-call";
import { toCreateTaskResult } from "./view";

/** Everything that may refuse the call comes first, while the HTTP status is still open. */
export async function callTool(call: Call): Promise<Answer> {
  const params = readParams(call, CallToolParams);
  const helper = helperNamed(call, params.name);
  if (helper) return { stream: "when_slow", run: (exchange) => callHelper(call, params, helper, exchange) };
  const tool = await toolNamed(call, params.name);
  const args = params.arguments ?? {};
  checkParamHeaders(call.headers, tool, args);
  const key = idempotencyKeyOf(call.headers, params._meta);
  // Anonymous callers share nothing, so their key could find no task of theirs.
  const idempotencyKey = call.principal.kind === "anonymous" ? undefined : key;
  // The model can mend its arguments, so it gets to read what is wrong with them (tools §Error Handling).
  const checked = tool.parseArguments(args);
  if (!checked.ok) return toResult("complete", toolError(checked.message));
  const plan = planFor(call, tool);
  // What a held call cannot be asked, its model answers with a helper tool.
  if (plan !== "held") requireAsks(params.name, tool.tool.asks, call.capabilities);
  const rounds = await openRounds(call, params);
  const toolCall: ToolCall = { call, params, arguments: args, tool, plan, idempotencyKey, rounds };
  // A handle comes soon unless something runs before the task exists.
  const quick = plan === "task" && !tool.tool.prepare && rounds.taskId === null;
  return { stream: quick ? "never" : "when_slow", run: (exchange) => carryOut(toolCall, exchange) };
}

/** Design decision 14. */
function planFor(call: Call, { tool }: RegisteredTool): Plan {
  if (tool.task === "forbidden") return "inline";
  if (tasksUsable(call.capabilities)) return "task";
  if (tool.task === "required") requireTasks(call.capabilities, `The tool "${tool.name}"`);
  return "held";
}

async function carryOut(toolCall: ToolCall, exchange: Exchange): Promise<JsonText> {
  const { call, params, tool, plan, rounds } = toolCall;
  // The task that asked was prepared in an earlier round.
  if (rounds.taskId !== null) return holdCall(toolCall, exchange, undefined);
  const inline = {
    tool,
    arguments: toolCall.arguments,
    client: clientFacts(call),
    signal: exchange.signal,
    ...reportTo(exchange, params._meta, tool.tool.name),
    deps: call.deps,
  };
  const prepared = await prepareCall({ ...inline, answers: rounds.prepare });
  if (prepared.kind !== "returned") return toAnswer(toolCall, "prepare", prepared);
  switch (plan) {
    case "task":
      return createTask(toolCall, exchange, prepared.value);
    case "held":
      return holdCall(toolCall, exchange, prepared.value);
    case "inline": {
      const outcome = await callInline({ ...inline, prepared: prepared.value, answers: rounds.run });
      return toAnswer(toolCall, "run", outcome);
    }
  }
}

async function createTask(toolCall: ToolCall, { signal }: Exchange, prepared: unknown): Promise<JsonText> {
  const { call, idempotencyKey } = toolCall;
  const { task } = await startTask(toolCall, prepared);
  // Nobody will ever know the id; with a key its owner finds it by calling again.
  if (signal.aborted && idempotencyKey === undefined) await call.deps.tasks.cancel(call.principal, task.id);
  return toCreateTaskResult(task);
}

async function toAnswer(
  { call, params, rounds }: ToolCall,
  asker: "prepare" | "run",
  outcome: InlineOutcome,
): Promise<JsonText> {
  switch (outcome.kind) {
    case "result":
      return toResult("complete", outcome.result);
    case "error":
      throw toThrown(outcome.error);
    case "input_required":
      // Nothing is kept here: the client brings back what was settled (patterns MRTR).
      return inputRequired(call, params, asker, outcome.questions, {
        ...(asker === "prepare" ? {} : { prepare: rounds.prepare }),
        [asker]: outcome.answered,
      });
  }
}
