import type { TaskListPage, TaskListQuery, TaskListRow, TaskSearch, TaskSearchPage } from "../src/service/task-store";
import type { Standing } from "../src/task/standing";
import { fromColumn, toColumn } from "./context-column";
import type { IndexRows } from "./index-rows";

type ListRow = { [K in keyof TaskListRow]: TaskListRow[K] } & { version: number };

/** `reserved`: the rows on it that no task has confirmed. */
type Page = TaskListPage & { readonly reserved: readonly string[] };

/** An index's tasks, newest first. */
export function listed(rows: IndexRows, { after, limit }: TaskListQuery, now: number): Page {
  const { createdAt, id } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
  return toPage(rows.query<ListRow>("list", createdAt, id, now, limit + 1), limit);
}

/** Those that fit, by when they last changed their phase, and how many there are in all. */
export function found(
  rows: IndexRows,
  { contextId, standing, since = 0, after, limit }: TaskSearch,
  now: number,
): Page & TaskSearchPage {
  const [by, filter] = filterOf(contextId, standing);
  const wanted = [...filter, since, now];
  const { statusAt, id } = after ?? { statusAt: Number.MAX_SAFE_INTEGER, id: "" };
  const page = toPage(rows.query<ListRow>(`search${by}`, ...wanted, statusAt, id, limit + 1), limit);
  const [counted] = rows.query<{ total: number }>(`total${by}`, ...wanted);
  return { ...page, total: counted?.total ?? 0 };
}

/** Which of the statements for a search, and what its own filter takes. */
function filterOf(
  contextId: string | undefined,
  standing: Standing | undefined,
): readonly ["" | "Context" | "Standing", readonly (string | null)[]] {
  if (contextId !== undefined) return ["Context", [toColumn(contextId), standing ?? null]];
  return standing === undefined ? ["", []] : ["Standing", [standing]];
}

function toPage(found: readonly ListRow[], limit: number): Page {
  const page = found.slice(0, limit);
  const reserved = page.filter((row) => row.version === 0).map((row) => row.id);
  const rows = page.map(({ version: _, contextId, ...row }) => ({ ...row, contextId: fromColumn(contextId) }));
  return { rows, more: found.length > limit, reserved };
}
