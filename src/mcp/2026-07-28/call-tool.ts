import { JsonRpcError, type Answer, type Exchange } from "../../json-rpc";
import { callInline, prepareCall, type InlineOutcome, type InlineRequest } from "../../service/call-inline";
import type { TaskSnapshot } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { JsonObject, JsonText } from "../../task/json";
import type { RpcError } from "../../task/task";
import { missingCapabilities } from "../../tool/asks";
import type { ToolResult } from "../../tool/define-tool";
import type { RegisteredTool } from "../../tool/registry";
import { clientFacts, REVISION, type Call } from "./call";
import { checkParamHeaders } from "./headers";
import { idempotencyKeyOf } from "./idempotency";
import { reportTo } from "./report";
import { toResult } from "./results";
import { openRounds, sealRounds, type Asker, type Rounds } from "./rounds";
import { CallToolParams, readParams } from "./schemas";
import { requireTasks, tasksUsable } from "./tasks-extension";
import { errorOf, toCreateTaskResult, toInputRequests } from "./view";

/** How a call is carried out: as a task whose handle is the answer, as a task the call waits for, or in the request. */
type Plan = "task" | "held" | "inline";

type ToolCall = {
  readonly call: Call;
  readonly params: CallToolParams;
  readonly arguments: JsonObject;
  readonly tool: RegisteredTool;
  readonly plan: Plan;
  readonly idempotencyKey: string | undefined;
  readonly rounds: Rounds;
};

/** Everything that may refuse the call comes first, while the HTTP status is still open. */
export async function callTool(call: Call): Promise<Answer> {
  const params = readParams(call, CallToolParams);
  const tool = call.deps.registry.get(params.name);
  if (!tool)
    throw new TaskError("unknown_tool", `There is no tool named ${JSON.stringify(params.name.slice(0, 128))} here.`);
  const args = params.arguments ?? {};
  checkParamHeaders(call.headers, tool, args);
  const idempotencyKey = idempotencyKeyOf(call, params._meta);
  // The model can mend its arguments, so it gets to read what is wrong with them (tools §Error Handling).
  const checked = tool.parseArguments(args);
  if (!checked.ok) return toolError(checked.message);
  requireAsks(call, tool);
  const plan = planFor(call, tool, idempotencyKey !== undefined);
  const rounds = await openRounds(call, params);
  const toolCall: ToolCall = { call, params, arguments: args, tool, plan, idempotencyKey, rounds };
  // A handle comes soon unless something runs before the task exists.
  const quick = plan === "task" && !tool.tool.prepare;
  return { stream: quick ? "never" : "when_slow", run: (exchange) => carryOut(toolCall, exchange) };
}

/** Refused before anything starts: nobody could answer what the tool asks (base §Per-request protocol fields). */
function requireAsks({ capabilities }: Call, { tool }: RegisteredTool): void {
  const missing = missingCapabilities(tool.asks ?? [], capabilities);
  if (missing === null) return;
  const message = `The tool "${tool.name}" may ask for ${Object.keys(missing).join(", ")}, which the client did not declare in this request's client capabilities.`;
  throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
}

function planFor(call: Call, { tool }: RegisteredTool, keyed: boolean): Plan {
  if (tool.task === "forbidden") return "inline";
  if (tasksUsable(call.capabilities)) return "task";
  if (tool.task === "required") requireTasks(call.capabilities, `The tool "${tool.name}"`);
  return keyed ? "held" : "inline";
}

async function carryOut(toolCall: ToolCall, exchange: Exchange): Promise<JsonText> {
  const { plan, rounds } = toolCall;
  const inline = inlineRequest(toolCall, exchange);
  const prepared = await prepareCall({ ...inline, answers: rounds.prepare });
  if (prepared.kind !== "prepared") return toAnswer(toolCall, "prepare", prepared);
  switch (plan) {
    case "task":
      return startTask(toolCall, exchange, prepared.prepared);
    case "held":
      return holdTask(toolCall, exchange, prepared.prepared);
    case "inline": {
      const outcome = await callInline({ ...inline, prepared: prepared.prepared, answers: rounds.run });
      return toAnswer(toolCall, "run", outcome);
    }
  }
}

async function startTask(toolCall: ToolCall, { signal }: Exchange, prepared: unknown): Promise<JsonText> {
  const { call, idempotencyKey } = toolCall;
  const { task } = await start(toolCall, prepared);
  // Nobody will ever know the id; with a key its owner finds it by calling again.
  if (signal.aborted && idempotencyKey === undefined) await call.deps.tasks.cancel(call.principal, task.id);
  return toCreateTaskResult(task);
}

/** A client without tasks gets the result of one: its leaving, or a repeated call, changes nothing about the work. */
async function holdTask(toolCall: ToolCall, exchange: Exchange, prepared: unknown): Promise<JsonText> {
  const { call, params, tool, rounds } = toolCall;
  const { tasks } = call.deps;
  const { task, existing } = await start(toolCall, prepared);
  // A task that was only just made cannot have asked yet: these answers were for somebody else.
  if (existing) await tasks.answer(call.principal, task.id, rounds.task);
  const { onProgress } = reportTo(exchange, params._meta, tool.tool.name);
  const ended = await tasks.settle(call.principal, task.id, {
    signal: exchange.signal,
    onEvent: ({ progress }) => progress && onProgress(progress),
  });
  if (ended.stage.phase !== "settled") return inputRequired(toolCall, "task", ended.openQuestions, {});
  const { outcome } = ended.stage;
  const error = errorOf(outcome);
  if (error) throw toThrown(error);
  return outcome.kind === "result"
    ? toResult("complete", JSON.parse(outcome.result) as ToolResult)
    : toolError("The call was cancelled.");
}

function start({ call, tool, arguments: args, idempotencyKey }: ToolCall, prepared: unknown) {
  return call.deps.tasks.start({
    principal: call.principal,
    tool,
    arguments: args,
    prepared,
    client: clientFacts(call),
    origin: `mcp/${REVISION}`,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
}

async function toAnswer(toolCall: ToolCall, asker: Asker, outcome: InlineOutcome): Promise<JsonText> {
  switch (outcome.kind) {
    case "result":
      return toResult("complete", outcome.result);
    case "error":
      throw toThrown(outcome.error);
    case "input_required":
      return inputRequired(toolCall, asker, outcome.questions, outcome.answered);
  }
}

/** Nothing is kept here: the client calls again with the answers (patterns MRTR). */
async function inputRequired(
  { call, params, rounds }: ToolCall,
  asker: Asker,
  questions: TaskSnapshot["openQuestions"],
  answered: Rounds[Asker],
): Promise<JsonText> {
  const settled = asker === "prepare" ? {} : { prepare: rounds.prepare };
  const requestState = await sealRounds(call, params, asker, { ...settled, [asker]: answered });
  return toResult("input_required", { inputRequests: toInputRequests(questions), requestState });
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
    onFault(fault) {
      const error = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
      log?.({ level: "error", message: "The tool failed.", tool: name, error });
    },
  };
}

const toolError = (text: string): JsonText =>
  toResult("complete", { content: [{ type: "text", text }], isError: true });

const toThrown = ({ code, message, data }: RpcError): JsonRpcError =>
  new JsonRpcError(200, code, message, data === undefined ? {} : { data: JSON.parse(data) as unknown });
