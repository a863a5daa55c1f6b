import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import type { RegisteredTool } from "../../tool/registry";
import { helperTools, type HelperTool } from "../helper-tools";
import { readParams } from "../schemas";
import { toolsHints } from "./caching";
import type { Call } from "./call";
import { toResult } from "./results";
import { ListToolsParams } from "./schemas";
import { tasksUsable } from "./tasks-extension";

/**
 * The whole list on one page, in the catalog's order; then the helper tools, for clients that have nothing else to look
 * after a task with.
 */
export async function listTools(call: Call): Promise<JsonText> {
  // "" is a cursor too: only absence begins a list (pagination §Implementation Guidelines).
  if (readParams(call, ListToolsParams).cursor !== undefined) {
    throw new TaskError("invalid", "The cursor is not one of this server's: the list of tools is a single page.");
  }
  const helpers = tasksUsable(call.capabilities) ? [] : helperTools(call.deps, call.principal).map(toHelperTool);
  const tools = [...(await call.deps.tools.list()).map(toTool), ...helpers];
  return toResult("complete", { tools, ...toolsHints });
}

/** No `execution`: whether a call becomes a task is not the client's business in this revision (schema, Tool). */
function toTool({ tool, inputSchema, outputSchema }: RegisteredTool) {
  const { name, title, description, annotations } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations };
}

const toHelperTool = ({ name, title, description, inputSchema, annotations }: HelperTool) => ({
  name,
  title,
  description,
  inputSchema,
  annotations,
});
