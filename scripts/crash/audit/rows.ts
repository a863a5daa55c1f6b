import { findings } from "./evidence.ts";
import type { IndexRow, Storage } from "./storage.ts";

/** At any instant: a task has a row, which knows nothing that is not so, and no task has two. */
export const rows = findings("a row to each task", function* ({ storage }) {
  const all = taskRows(storage);
  const known = Map.groupBy(all, ({ id }) => id);
  for (const { id, facts } of storage.tasks.values()) {
    const [row, ...more] = known.get(id) ?? [];
    if (!row) yield `The task ${id} has no row in any index.`;
    else if (row.version > facts.version)
      yield `The row of ${id} is at version ${row.version}, and the task only at ${facts.version}.`;
    if (more.length > 0) yield `The task ${id} has ${more.length + 1} rows.`;
  }
});

/** At rest: a row has a task, and says of it what is so. */
export const rowsAtRest = findings("a task to each row", function* ({ storage }) {
  for (const row of taskRows(storage)) {
    const task = storage.tasks.get(row.id);
    if (!task) {
      yield row.version === 0
        ? `The reservation ${row.id} was never made good, and is still there.`
        : `The row ${row.id} (version ${row.version}, ${row.phase}) has no task.`;
      continue;
    }
    const { version, stage } = task.facts;
    if (row.version !== version || row.phase !== stage.phase)
      yield `The row of ${row.id} says ${row.phase} at version ${row.version}; the task is ${stage.phase} at ${version}.`;
  }
});

/** Rows with a mark are not of tasks. */
const taskRows = ({ indexes }: Storage): readonly IndexRow[] =>
  indexes.flatMap((index) => index.rows).filter(({ mark }) => mark === null);
