import { findings } from "./evidence.ts";
import type { Storage, StoredTask } from "./storage.ts";

/** Nothing waits for ever: at any instant a task that has not ended has something ahead that sets it going. */
export const abandoned = findings("none stuck", function* ({ storage }) {
  const due = dueTimes(storage);
  for (const task of storage.tasks.values()) {
    if (task.facts.stage.phase === "settled") continue;
    if (task.alarm === null && due.get(task.id) === undefined)
      yield `Nothing will ever set the task ${task.id} going again: ${told(task)}.`;
    // The alarm alone may be lost with the process that was to hear it.
    else if (due.get(task.id) === undefined) yield `No sweep will ever look at the task ${task.id}: ${told(task)}.`;
  }
});

/** All is at rest: whatever could be answered was, and the time for all else has come. */
export const stuck = findings("none stuck", function* ({ storage }) {
  for (const task of storage.tasks.values())
    if (task.facts.stage.phase !== "settled") yield `The task ${task.id} never ends: ${told(task)}.`;
});

function dueTimes({ indexes }: Storage): ReadonlyMap<string, number> {
  const rows = indexes.flatMap((index) => index.rows);
  return new Map(rows.flatMap(({ id, due }) => (due === null ? [] : [[id, due] as const])));
}

const told = ({ facts, log, alarm }: StoredTask): string =>
  `its stage is ${JSON.stringify(facts.stage)}, its alarm ${alarm === null ? "not set" : new Date(alarm).toISOString()}, ` +
  `its log ends with ${log
    .slice(-3)
    .map(({ event, seq }) => `${event} (${seq})`)
    .join(", ")}`;
