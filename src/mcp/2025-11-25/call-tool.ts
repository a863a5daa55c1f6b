import { JsonRpcError, METHOD_NOT_FOUND, type Answer, type Exchange } from "../../json-rpc";
import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import { requireAsks } from "../../tool/asks";
import type { RegisteredTool } from "../../tool/registry";
import { clientFacts, type Call } from "../legacy/call";
import { callWithoutTask } from "../legacy/call-tool";
import { startTask } from "../legacy/held-call";
import { afterPrepare } from "../legacy/in-request";
import { readParams } from "../schemas";
import { helperNamed, toolNamed } from "../tool-named";
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
  requireAsks(params.name, tool.tool.asks, call.session.capabilities);
  const toolCall = { call, params, tool };
  const progressToken = params._meta?.progressToken;
  const client = { ...clientFacts(call), ...(progressToken === undefined ? {} : { progressToken }) };
  const run = (exchange: Exchange): Promise<JsonText> =>
    afterPrepare(toolCall, exchange, async (prepared) =>
      JSON.stringify(toCreateTaskResult(await startTask(toolCall, prepared, client, ttl))),
    );
  return { stream: tool.tool.prepare ? "when_slow" : "never", run };
}

/** Before any effect of the tool. */
const notAsTask = (name: string): JsonRpcError =>
  new JsonRpcError(200, METHOD_NOT_FOUND, `The tool "${name}" does not run as a task: call it without params.task.`);
