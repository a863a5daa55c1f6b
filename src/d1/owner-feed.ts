import type { OwnerFeedMessage } from "../service/task-store";
import type { Phase } from "../task/task";
import { Polling } from "./polling";
import { taskSql } from "./task-sql";

const AT_ONCE = 100;

type Changed = { moved: number; id: string; version: number; phase: Phase };
type Gone = { moved: number; id: string };

/** Which of an owner's tasks change, by looking again and again. What moved twice between two looks is told once. */
export async function* ownerFeed(
  open: () => Promise<D1Database>,
  namespace: string,
  owner: string,
  signal: AbortSignal,
): AsyncGenerator<OwnerFeedMessage, void, undefined> {
  const db = await open();
  const polling = new Polling(signal);
  const name = JSON.stringify(owner);
  const tally = await db.prepare(taskSql.tally).bind(namespace, name).first<{ moved: number }>();
  let cursor = tally?.moved ?? 0;
  yield { kind: "ready" };
  while (await polling.next()) {
    const [changed, gone] = await db.batch<Changed | Gone>([
      db.prepare(taskSql.changes).bind(namespace, name, cursor, AT_ONCE),
      db.prepare(taskSql.gone).bind(namespace, name, cursor, AT_ONCE),
    ]);
    const news = upTo([changed?.results ?? [], gone?.results ?? []]);
    if (news.length > 0) polling.found();
    for (const { moved, id, ...rest } of news) {
      cursor = moved;
      yield "version" in rest ? { kind: "change", id, ...rest } : { kind: "gone", id };
    }
  }
}

/** In order, and only as far as all lists reach: what lies beyond a full one is not known yet. */
function upTo(lists: readonly (readonly (Changed | Gone)[])[]): readonly (Changed | Gone)[] {
  const ends = lists.filter((list) => list.length === AT_ONCE).map((list) => list.at(-1)?.moved ?? 0);
  const end = Math.min(Infinity, ...ends);
  return lists
    .flat()
    .filter(({ moved }) => moved <= end)
    .sort((a, b) => a.moved - b.moved);
}
