import type { JsonText } from "../../task/json";
import { listedTools } from "../listed-tools";
import { readParams } from "../schemas";
import type { Call } from "./call";
import { ListParams } from "./schemas";

export async function listTools(call: Call): Promise<JsonText> {
  const { revision, session } = call;
  const { cursor } = readParams(call, ListParams);
  const tools = await listedTools(call, cursor, revision.needsHelpers(session.capabilities));
  return JSON.stringify({ tools: tools.map((tool) => revision.toTool(tool)) });
}
