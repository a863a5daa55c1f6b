import { findings } from "./evidence.ts";

/** Everything has expired and was collected. */
export const nothing = findings("nothing stays behind", function* ({ storage }) {
  for (const id of storage.tasks.keys()) yield `The task ${id} has expired, and is still stored.`;
  for (const { namespace, id } of storage.records)
    yield `The record ${namespace}/${id} has expired, and is still stored.`;
  for (const name of storage.tools?.declared.keys() ?? []) yield `The tool ${name} was removed, and is still declared.`;
  for (const object of storage.remains) yield `The object ${object} holds remains of a task.`;
  for (const { name, rows, tally } of storage.indexes)
    if (rows.length > 0 || tally.stored !== 0 || tally.live !== 0)
      yield `The index ${name} still has ${rows.length} rows, and counts ${tally.stored} (${tally.live} live).`;
  for (const name of storage.directory.keys()) yield `The directory still knows of the index ${name}.`;
});
