import type { JsonText } from "../../task/json";
import { listedTools, toTool } from "../listed-tools";
import { readParams } from "../schemas";
import { toolsHints } from "./caching";
import type { Call } from "./call";
import { toResult } from "./results";
import { ListToolsParams } from "./schemas";
import { tasksUsable } from "./tasks-extension";

/** No `execution`: whether a call becomes a task is not the client's business in this revision (schema, Tool). */
export async function listTools(call: Call): Promise<JsonText> {
  const { cursor } = readParams(call, ListToolsParams);
  const tools = await listedTools(call, cursor, !tasksUsable(call.capabilities));
  return toResult("complete", { tools: tools.map(toTool), ...toolsHints });
}
