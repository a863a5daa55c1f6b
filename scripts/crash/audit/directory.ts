import { findings } from "./evidence.ts";

/** At any instant the directory knows of each index that has something due, and not too late: the cron finds it there. */
export const directory = findings("the cron finds all", function* ({ storage }) {
  for (const { name, rows } of storage.indexes) {
    const times = rows.flatMap(({ due }) => (due === null ? [] : [due]));
    if (times.length === 0) continue;
    const due = Math.min(...times);
    const noted = storage.directory.get(name);
    if (noted === undefined) yield `The directory does not know of the index ${name}, which is due at ${due}.`;
    else if (noted > due) yield `The directory has the index ${name} due at ${noted}, and it is due at ${due} already.`;
  }
});
