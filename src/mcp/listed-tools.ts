import type { Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import type { RegisteredTool } from "../tool/registry";
import { helperTools } from "./helper-tools";
import type { McpDeps } from "./wing";

/** A tool of the deployment, or a helper. */
export type ListedTool = Pick<RegisteredTool["tool"], "name" | "title" | "description" | "annotations"> &
  Partial<Pick<RegisteredTool["tool"], "task">> &
  Pick<RegisteredTool, "inputSchema" | "outputSchema">;

/**
 * The whole list on one page, in the catalog's order; then the helper tools, for clients that have nothing else to look
 * after a task with.
 */
export async function listedTools(
  { deps, principal }: { readonly deps: McpDeps; readonly principal: Principal },
  cursor: unknown,
  withHelpers: boolean,
): Promise<readonly ListedTool[]> {
  // "" is a cursor too: only absence begins a list (pagination §Implementation Guidelines).
  if (cursor !== undefined) {
    throw new TaskError("invalid", "The cursor is not one of this server's: the list of tools is a single page.");
  }
  const own = (await deps.tools.list()).map(({ tool, ...schemas }) => ({ ...tool, ...schemas }));
  return withHelpers ? [...own, ...helperTools(deps, principal)] : own;
}

/** As the newest revision has it. */
export const toTool = ({ name, title, description, inputSchema, outputSchema, annotations }: ListedTool) => ({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
});
