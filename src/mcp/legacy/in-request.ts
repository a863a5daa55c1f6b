import type { Exchange } from "../../json-rpc";
import { callInline, prepareCall, type InlineRequest } from "../../service/call-inline";
import type { JsonObject, JsonText } from "../../task/json";
import type { LogLevel } from "../../tool/context";
import type { RegisteredTool } from "../../tool/registry";
import { isAtLeast, reportProgress, speakTo, toLogParams, type Say } from "../report";
import { clientFacts, type Call } from "./call";
import { openCallLine, type CallLine } from "./call-line";
import { toEnded } from "./ended";
import type { CallToolParams } from "./schemas";

/** A call that may go ahead. */
export type ToolCall = {
  readonly call: Call;
  readonly params: CallToolParams;
  readonly tool: RegisteredTool;
};

/**
 * What runs within the request: the tool's `prepare`, then whatever comes after it. The client is asked on the stream of
 * the call, and what asked is run again with the answers.
 */
async function inRequest(
  toolCall: ToolCall,
  exchange: Exchange,
  next: (request: InlineRequest, line: CallLine) => Promise<JsonText>,
): Promise<JsonText> {
  const { call, params, tool } = toolCall;
  const line = openCallLine(call, exchange);
  const say = speakTo(exchange);
  const log = logTo(call, say, tool.tool.name);
  try {
    const request: InlineRequest = {
      tool,
      arguments: params.arguments ?? {},
      client: clientFacts(call),
      answers: {},
      signal: line.signal,
      onProgress: reportProgress(say, params._meta?.progressToken),
      onLog: log.write,
      deps: call.deps,
    };
    const prepared = await line.through((answers) => prepareCall({ ...request, answers }));
    return prepared.kind === "returned"
      ? await next({ ...request, prepared: prepared.value }, line)
      : toEnded(call.revision, prepared);
  } finally {
    line.close();
    await log.written();
  }
}

/** Begins a task, with what the tool's `prepare` returned where it has one. */
export const afterPrepare = (
  toolCall: ToolCall,
  exchange: Exchange,
  begin: (prepared?: unknown) => Promise<JsonText>,
): Promise<JsonText> =>
  toolCall.tool.tool.prepare ? inRequest(toolCall, exchange, ({ prepared }) => begin(prepared)) : begin();

/** A plain call of a tool that is never a task. */
export const callPlainly = (toolCall: ToolCall, exchange: Exchange): Promise<JsonText> =>
  inRequest(toolCall, exchange, async (request, line) =>
    toEnded(toolCall.call.revision, await line.through((answers) => callInline({ ...request, answers }))),
  );

/** The session is asked for its level when there is something to tell, and not before. */
function logTo({ deps, session }: Call, say: Say, tool: string) {
  let least: Promise<LogLevel> | undefined;
  let written = Promise.resolve();
  return {
    write(level: LogLevel, message: string, data?: JsonObject): void {
      least ??= deps.sessions.logLevel(session).then((set) => set ?? "info");
      written = least.then(
        (set) => {
          if (isAtLeast(level, set)) say("notifications/message", toLogParams(tool, level, message, data));
        },
        // A line that is lost is no reason to fail the call.
        () => {},
      );
    },
    written: () => written,
  };
}
