import type { Answer, Exchange } from "../../json-rpc";
import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import { missingCapabilities } from "../../tool/asks";
import type { RegisteredTool } from "../../tool/registry";
import { helperTools, type HelperTool } from "../helper-tools";
import { reportProgress, speakTo } from "../report";
import type { Call } from "./call";
import { toResultText, toToolError } from "./ended";
import { asking, callHeld } from "./held-call";
import { callPlainly, type ToolCall } from "./in-request";
import type { CallToolParams } from "./schemas";

/** A call without a word about tasks. What may refuse it comes first; `refuse` is what the revision adds to that. */
export async function callWithoutTask(
  call: Call,
  params: CallToolParams,
  refuse: (tool: RegisteredTool) => void = () => {},
): Promise<Answer> {
  const helper = helperNamed(call, params.name);
  if (helper) return { stream: "when_slow", run: (exchange) => callHelper(call, params, helper, exchange) };
  const tool = await toolNamed(call, params.name);
  refuse(tool);
  // The model can mend its arguments, so it gets to read what is wrong with them (2025-11-25 tools §Error Handling).
  const checked = tool.parseArguments(params.arguments ?? {});
  if (!checked.ok) return toToolError(call.revision, checked.message);
  const toolCall: ToolCall = { call, params, tool };
  // What a held call cannot be asked, its model answers with a helper tool.
  if (tool.tool.task !== "forbidden") return callHeld(toolCall);
  requireAsks(call, tool);
  return { stream: "when_slow", run: (exchange) => callPlainly(toolCall, exchange) };
}

export async function toolNamed({ deps }: Call, name: string): Promise<RegisteredTool> {
  const tool = await deps.tools.find(name);
  if (tool) return tool;
  throw new TaskError("unknown_tool", `There is no tool named ${JSON.stringify(name.slice(0, 128))} here.`);
}

export const helperNamed = ({ deps, principal }: Call, wanted: string): HelperTool | undefined =>
  helperTools(deps, principal).find(({ name }) => name === wanted);

/** Refused before anything starts: nobody could answer what the tool asks. */
export function requireAsks({ session }: Call, { tool }: RegisteredTool): void {
  const missing = missingCapabilities(tool.asks ?? [], session.capabilities);
  if (missing === null) return;
  const message = `The tool "${tool.name}" may ask for ${Object.keys(missing).join(", ")}, which the client did not declare when it began the session.`;
  throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
}

async function callHelper(
  call: Call,
  params: CallToolParams,
  helper: HelperTool,
  exchange: Exchange,
): Promise<JsonText> {
  const taskId = params.arguments?.["taskId"];
  const result = await helper.call(params.arguments ?? {}, {
    signal: exchange.signal,
    onProgress: reportProgress(speakTo(exchange), params._meta?.progressToken),
    ...(exchange.streams && typeof taskId === "string" ? asking(call, exchange, taskId) : {}),
  });
  return toResultText(call.revision, result);
}
