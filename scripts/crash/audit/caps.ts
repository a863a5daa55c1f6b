import { findings } from "./evidence.ts";

/** At any instant the counters of an index, which its caps go by, are the number of its rows. */
export const tallies = findings("caps are exact", function* ({ storage }) {
  for (const { name, rows, tally } of storage.indexes) {
    const live = rows.filter(({ phase }) => phase !== "settled").length;
    if (tally.stored !== rows.length)
      yield `The index ${name} counts ${tally.stored} tasks, and has ${rows.length} rows.`;
    if (tally.live !== live) yield `The index ${name} counts ${tally.live} live tasks, and ${live} of its rows are.`;
  }
});

/** Never did more tasks of one owner live at a time than may. Each lives from when its client knew of it to its end. */
export const neverMore = findings("caps are exact", function* ({ storage, journal, maxLive }) {
  for (const [owner, tasks] of Map.groupBy(journal.tasks.values(), (task) => task.owner)) {
    const changes = tasks.flatMap(({ id, at }) => {
      const stage = storage.tasks.get(id)?.facts.stage;
      // Of what was collected the end is not known any more.
      if (stage?.phase !== "settled" || stage.settledAt <= at) return [];
      return [
        { at, by: 1 },
        { at: stage.settledAt, by: -1 },
      ];
    });
    let live = 0;
    let most = 0;
    for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) most = Math.max(most, (live += by));
    if (most > maxLive) yield `Of ${owner} ${most} tasks lived at a time, and ${maxLive} may.`;
  }
});
