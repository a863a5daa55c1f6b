import type { TaskListPage, TaskListQuery, TaskListRow, TaskSearch, TaskSearchPage } from "../service/task-store";
import { taskSql } from "./task-sql";

/** An owner's tasks, newest first. */
export async function listed(
  db: D1Database,
  { namespace, owner, limit, after }: TaskListQuery,
  now: number,
): Promise<TaskListPage> {
  const { createdAt, id } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
  const { results } = await db
    .prepare(taskSql.list)
    .bind(namespace, JSON.stringify(owner), createdAt, id, now, limit + 1)
    .all<ListRow>();
  return toPage(results, limit);
}

/** Those that fit, by when they last changed their phase, and how many there are in all: as of one instant. */
export async function found(
  db: D1Database,
  { namespace, owner, limit, after, since = 0, ...by }: TaskSearch,
  now: number,
): Promise<TaskSearchPage> {
  const [which, filter] = filterOf(by);
  const wanted = [namespace, JSON.stringify(owner), ...filter, since, now];
  const { statusAt, id } = after ?? { statusAt: Number.MAX_SAFE_INTEGER, id: "" };
  const [rows, counted] = await db.batch([
    db.prepare(taskSql[`search${which}`]).bind(...wanted, statusAt, id, limit + 1),
    db.prepare(taskSql[`total${which}`]).bind(...wanted),
  ]);
  const [count] = (counted?.results ?? []) as { total: number }[];
  return { ...toPage((rows?.results ?? []) as ListRow[], limit), total: count?.total ?? 0 };
}

/** Which of the statements for a search, and what its own filter takes. */
function filterOf({
  contextId,
  standing,
}: Pick<TaskSearch, "contextId" | "standing">): readonly ["" | "Context" | "Standing", readonly (string | null)[]] {
  if (contextId !== undefined) return ["Context", [JSON.stringify(contextId), standing ?? null]];
  return standing === undefined ? ["", []] : ["Standing", [standing]];
}

type ListRow = {
  id: string;
  created_at: number;
  tool: string;
  context_id: string;
  origin: string;
  phase: TaskListRow["phase"];
  outcome: TaskListRow["outcome"];
  status_at: number;
};

const toPage = (rows: readonly ListRow[], limit: number): TaskListPage => ({
  rows: rows.slice(0, limit).map(toListRow),
  more: rows.length > limit,
});

const toListRow = (row: ListRow): TaskListRow => ({
  id: row.id,
  createdAt: row.created_at,
  tool: row.tool,
  contextId: JSON.parse(row.context_id) as string | null,
  origin: row.origin,
  phase: row.phase,
  outcome: row.outcome,
  statusAt: row.status_at,
});
