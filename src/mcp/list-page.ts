import { openCursor, sealCursor } from "../list-cursor";
import type { Principal } from "../service/principal";
import type { TaskListRow } from "../service/task-store";
import type { McpDeps } from "./wing";

const PAGE = 50;

/** A page of the caller's own tasks, newest first. A cursor stays good when the task it names is gone. */
export async function listPage(
  deps: Pick<McpDeps, "tasks" | "sealer">,
  principal: Principal,
  cursor: string | undefined,
): Promise<{ readonly rows: readonly TaskListRow[]; readonly nextCursor: string | undefined }> {
  const after = cursor === undefined ? undefined : await openCursor(deps, principal, "createdAt", cursor);
  const { rows, more } = await deps.tasks.list(principal, { limit: PAGE, ...(after && { after }) });
  const last = more ? rows.at(-1) : undefined;
  return { rows, nextCursor: last && (await sealCursor(deps, principal, "createdAt", last)) };
}
