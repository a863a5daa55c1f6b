import { JsonRpcError, METHOD_NOT_FOUND, type Answer, type Exchange } from "../../json-rpc";
import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import type { RegisteredTool } from "../../tool/registry";
import { clientFacts, type Call } from "../legacy/call";
import { callWithoutTask, helperNamed, requireAsks, toolNamed } from "../legacy/call-tool";
import { startTask } from "../legacy/held-call";
import { inRequest } from "../legacy/in-request";
import { readParams } from "../schemas";
import { CallToolParams } from "./schemas";
import { toCreateTaskResult } from "./view";

/** The client says whether it wants a task; the tool says whether it may (tasks §Tool-Level Negotiation). */
export async function callTool(call: Call): Promise<Answer> {
  const params = readParams(call, CallToolParams);
  return params.task ? callAsTask(call, params, params.task.ttl) : callWithoutTask(call, params, refuseTaskless);
}

function refuseTaskless({ tool }: RegisteredTool): void {
  if (tool.task !== "required") return;
  throw new TaskError("task_required", `The tool "${tool.name}" only runs as a task: call it with params.task.`);
}

async function callAsTask(call: Call, params: CallToolParams, ttl: number | null | undefined): Promise<Answer> {
  if (helperNamed(call, params.name)) throw notAsTask(params.name);
  const tool = await toolNamed(call, params.name);
  if (tool.tool.task === "forbidden") throw notAsTask(params.name);
  const checked = tool.parseArguments(params.arguments ?? {});
  // An error and no tool result: such a call is answered with a task or not at all (tasks §Result Retrieval).
  if (!checked.ok) throw new TaskError("invalid", checked.message);
  requireAsks(call, tool);
  const toolCall = { call, params, tool };
  const progressToken = params._meta?.progressToken;
  const client = { ...clientFacts(call), ...(progressToken === undefined ? {} : { progressToken }) };
  const begin = async (prepared?: unknown): Promise<JsonText> =>
    JSON.stringify(toCreateTaskResult(await startTask(toolCall, prepared, client, ttl)));
  const prepareFirst = (exchange: Exchange): Promise<JsonText> =>
    inRequest(toolCall, exchange, ({ prepared }) => begin(prepared));
  return tool.tool.prepare ? { stream: "when_slow", run: prepareFirst } : { stream: "never", run: () => begin() };
}

/** Before any effect of the tool. */
const notAsTask = (name: string): JsonRpcError =>
  new JsonRpcError(200, METHOD_NOT_FOUND, `The tool "${name}" does not run as a task: call it without params.task.`);
