import { ownerOf, type Principal } from "../service/principal";
import type { TaskListQuery, TaskListRow } from "../service/task-store";
import type { McpDeps } from "./wing";

const PURPOSE = "cursor";
/** Long enough for whoever reads on after lunch. */
const CURSOR_TTL_MS = 86_400_000;

type Deps = Pick<McpDeps, "sealer" | "clock">;

/** Where the next page of the caller's own list begins: after this row, whatever came or went before it. */
export const sealCursor = (
  { sealer, clock }: Deps,
  principal: Principal,
  { createdAt, id }: TaskListRow,
): Promise<string> =>
  sealer.seal(
    PURPOSE,
    { createdAt, id },
    { principal: ownerOf(principal) ?? "anonymous", expiresAt: clock() + CURSOR_TTL_MS },
  );

/** Null when it is not one of this caller's. */
export async function openCursor(
  { sealer }: Deps,
  principal: Principal,
  cursor: string,
): Promise<NonNullable<TaskListQuery["after"]> | null> {
  const opened = await sealer.open(PURPOSE, cursor, ownerOf(principal) ?? "anonymous");
  if (opened === null) return null;
  const { createdAt, id } = opened;
  return typeof createdAt === "number" && typeof id === "string" ? { createdAt, id } : null;
}
