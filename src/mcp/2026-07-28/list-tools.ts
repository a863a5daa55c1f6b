import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import type { RegisteredTool } from "../../tool/registry";
import { cacheHints } from "./caching";
import type { Call } from "./call";
import { toResult } from "./results";
import { ListToolsParams, readParams } from "./schemas";

/** The whole list on one page, in the deployment's order. */
export function listTools(call: Call): JsonText {
  // "" is a cursor too: only absence begins a list (pagination §Implementation Guidelines).
  if (readParams(call, ListToolsParams).cursor !== undefined) {
    throw new TaskError("invalid", "The cursor is not one of this server's: the list of tools is a single page.");
  }
  return toResult("complete", { tools: call.deps.registry.list().map(toTool), ...cacheHints(call) });
}

/** No `execution`: whether a call becomes a task is not the client's business in this revision (schema, Tool). */
function toTool({ tool, inputSchema, outputSchema }: RegisteredTool) {
  const { name, title, description, annotations } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations };
}
