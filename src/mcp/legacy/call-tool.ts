import type { Answer, Exchange } from "../../json-rpc";
import type { JsonText } from "../../task/json";
import { requireAsks } from "../../tool/asks";
import type { RegisteredTool } from "../../tool/registry";
import type { HelperTool } from "../helper-tools";
import { toolError } from "../outcome";
import { reportProgress, speakTo } from "../report";
import { helperNamed, toolNamed } from "../tool-named";
import type { Call } from "./call";
import { toResultText } from "./ended";
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
  if (!checked.ok) return toResultText(call.revision, toolError(checked.message));
  const toolCall: ToolCall = { call, params, tool };
  // What a held call cannot be asked, its model answers with a helper tool.
  if (tool.tool.task !== "forbidden") return callHeld(toolCall);
  requireAsks(params.name, tool.tool.asks, call.session.capabilities);
  return { stream: "when_slow", run: (exchange) => callPlainly(toolCall, exchange) };
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
    ...(typeof taskId === "string" && asking(call, exchange, taskId)),
  });
  return toResultText(call.revision, result);
}
