import { isObject } from "../../task/json";
import { JsonRpcError, METHOD_NOT_FOUND, methodOf, type Answer, type Method } from "../../json-rpc";
import { CLIENT_CAPABILITIES } from "../envelope";
import type { Inbound, McpDeps, Wing } from "../wing";
import type { Call } from "./call";
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

async function serve({ request, headers, principal, unsafeNumbers }: Inbound, deps: McpDeps): Promise<Answer> {
  checkMirrors(headers, request);
  const { id, method, params } = request;
  const run = methodOf(methods, method);
  // 404 is a MUST, and with a JSON-RPC body: a bare 404 reads as "no MCP here" (transports §Protocol Version Header).
  if (!run) throw new JsonRpcError(404, METHOD_NOT_FOUND, "There is no such method in MCP 2026-07-28 on this server.");
  const meta = params["_meta"];
  const declared = isObject(meta) ? meta[CLIENT_CAPABILITIES] : undefined;
  return run({
    id,
    method,
    params,
    headers,
    principal,
    unsafeNumbers,
    capabilities: isObject(declared) ? declared : {},
    deps,
  });
}
