import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import { helperTools } from "../helper-tools";
import { readParams } from "../schemas";
import type { Call } from "./call";
import { ListParams } from "./schemas";

/** The whole list on one page, in the catalog's order; then the helpers, for clients that have nothing else. */
export async function listTools(call: Call): Promise<JsonText> {
  const { deps, principal, revision, session } = call;
  // "" is a cursor too: only absence begins a list.
  if (readParams(call, ListParams).cursor !== undefined) {
    throw new TaskError("invalid", "The cursor is not one of this server's: the list of tools is a single page.");
  }
  const own = (await deps.tools.list()).map(({ tool, ...schemas }) => ({ ...tool, ...schemas }));
  const helpers = revision.needsHelpers(session.capabilities) ? helperTools(deps, principal) : [];
  return JSON.stringify({ tools: [...own, ...helpers].map((tool) => revision.toTool(tool)) });
}
