import type { Answer, Exchange } from "../../json-rpc";
import { callInline, prepareCall, type InlineOutcome, type InlineRequest } from "../../service/call-inline";
import { toolFailed } from "../../service/thrown";
import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import { missingCapabilities } from "../../tool/asks";
import type { RegisteredTool } from "../../tool/registry";
import { helperTools } from "../helper-tools";
import { readParams } from "../schemas";
import { clientFacts, type Call } from "./call";
import { callHelper } from "./call-helper";
import { checkParamHeaders } from "./headers";
import { holdCall } from "./held-call";
import { idempotencyKeyOf } from "./idempotency";
import { reportTo } from "./report";
import { toResult } from "./results";
import { openRounds } from "./rounds";
import { CallToolParams } from "./schemas";
import { requireTasks, tasksUsable } from "./tasks-extension";
import { inputRequired, startTask, toolError, toThrown, type Plan, type ToolCall } from "./tool-call";
import { toCreateTaskResult } from "./view";

/** Everything that may refuse the call comes first, while the HTTP status is still open. */
export async function callTool(call: Call): Promise<Answer> {
  const params = readParams(call, CallToolParams);
  const helper = helperTools(call.deps, call.principal).find(({ name }) => name === params.name);
  if (helper) return { stream: "when_slow", run: (exchange) => callHelper(call, params, helper, exchange) };
  const tool = await call.deps.tools.find(params.name);
  if (!tool)
    throw new TaskError("unknown_tool", `There is no tool named ${JSON.stringify(params.name.slice(0, 128))} here.`);
  const args = params.arguments ?? {};
  checkParamHeaders(call.headers, tool, args);
  const idempotencyKey = idempotencyKeyOf(call, params._meta);
  // The model can mend its arguments, so it gets to read what is wrong with them (tools §Error Handling).
  const checked = tool.parseArguments(args);
  if (!checked.ok) return toolError(checked.message);
  const plan = planFor(call, tool);
  // What a held call cannot be asked, its model answers with a helper tool.
  if (plan !== "held") requireAsks(call, tool);
  const rounds = await openRounds(call, params);
  const toolCall: ToolCall = { call, params, arguments: args, tool, plan, idempotencyKey, rounds };
  // A handle comes soon unless something runs before the task exists.
  const quick = plan === "task" && !tool.tool.prepare && rounds.taskId === null;
  return { stream: quick ? "never" : "when_slow", run: (exchange) => carryOut(toolCall, exchange) };
}

/** Refused before anything starts: nobody could answer what the tool asks (base §Per-request protocol fields). */
function requireAsks({ capabilities }: Call, { tool }: RegisteredTool): void {
  const missing = missingCapabilities(tool.asks ?? [], capabilities);
  if (missing === null) return;
  const message = `The tool "${tool.name}" may ask for ${Object.keys(missing).join(", ")}, which the client did not declare in this request's client capabilities.`;
  throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
}

/** Design decision 14. */
function planFor(call: Call, { tool }: RegisteredTool): Plan {
  if (tool.task === "forbidden") return "inline";
  if (tasksUsable(call.capabilities)) return "task";
  if (tool.task === "required") requireTasks(call.capabilities, `The tool "${tool.name}"`);
  return "held";
}

async function carryOut(toolCall: ToolCall, exchange: Exchange): Promise<JsonText> {
  const { plan, rounds } = toolCall;
  // The task that asked was prepared in an earlier round.
  if (rounds.taskId !== null) return holdCall(toolCall, exchange, undefined);
  const inline = inlineRequest(toolCall, exchange);
  const prepared = await prepareCall({ ...inline, answers: rounds.prepare });
  if (prepared.kind !== "prepared") return toAnswer(toolCall, "prepare", prepared);
  switch (plan) {
    case "task":
      return createTask(toolCall, exchange, prepared.prepared);
    case "held":
      return holdCall(toolCall, exchange, prepared.prepared);
    case "inline": {
      const outcome = await callInline({ ...inline, prepared: prepared.prepared, answers: rounds.run });
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

function inlineRequest(
  { call, params, arguments: args, tool }: ToolCall,
  exchange: Exchange,
): Omit<InlineRequest, "answers"> {
  const { config, clock, fetch, log } = call.deps;
  const { name } = tool.tool;
  const report = reportTo(exchange, params._meta, name);
  return {
    tool,
    arguments: args,
    client: clientFacts(call),
    limits: config.limits,
    clock,
    fetch,
    signal: exchange.signal,
    onProgress: report.onProgress,
    onLog(level, message, data) {
      log?.({ ...data, level, message, tool: name });
      report.onLog(level, message, data);
    },
    onFault: toolFailed(log, name),
  };
}
