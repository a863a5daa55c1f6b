import { JsonRpcError, METHOD_NOT_FOUND, methodOf, type Answer, type Method } from "../../json-rpc";
import type { Wing } from "../wing";
import { REVISION, type Call } from "./call";
import { callTool } from "./call-tool";
import { discover } from "./discover";
import { toJsonRpcError } from "./errors";
import { checkMirrors } from "./headers";
import { listTools } from "./list-tools";
import { listen } from "./listen";
import { cancelTask, getTask, updateTask } from "./task-methods";

/** Everything this revision answers. What it removed, `initialize`, `ping` or `tasks/result`, is absent by absence. */
export const methods: Readonly<Record<string, Method<Call>>> = {
  "server/discover": discover,
  "tools/list": listTools,
  "tools/call": callTool,
  "tasks/get": getTask,
  "tasks/update": updateTask,
  "tasks/cancel": cancelTask,
  "subscriptions/listen": listen,
};

export const mcp20260728: Wing = { serve, toJsonRpcError };

function serve(call: Call): Answer | Promise<Answer> {
  checkMirrors(call.headers, call);
  const run = methodOf(methods, call.method);
  // 404 is a MUST, and with a JSON-RPC body: a bare 404 reads as "no MCP here" (transports §Protocol Version Header).
  if (!run) throw new JsonRpcError(404, METHOD_NOT_FOUND, `There is no such method in MCP ${REVISION} on this server.`);
  return run(call);
}
