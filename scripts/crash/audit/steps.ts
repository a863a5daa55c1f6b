import { reportIn } from "../load/errands.ts";
import { findings } from "./evidence.ts";
import { endOf } from "./ends.ts";
import { stepsOf } from "./storage.ts";

/** What a step has stored stays as it is: what was told of it while the task ran, and what came of it at the end, say the same. */
export const steps = findings("steps are kept", function* ({ storage, journal }) {
  for (const task of storage.tasks.values()) {
    const stored = stepsOf(task);
    for (const [key, rows] of stored)
      if (rows.length !== 1) yield `The step ${key} of ${task.id} is stored ${rows.length} times.`;
    const value = (key: string): unknown => JSON.parse(stored.get(key)?.[0] ?? "null");
    for (const [key, seen] of journal.tasks.get(task.id)?.steps ?? [])
      if (value(key) !== seen)
        yield `The step ${key} of ${task.id} was told to be ${seen}, and ${String(value(key))} is stored.`;
    const report = reportIn(endOf(task)?.report ?? null);
    for (const [key, reported] of Object.entries(report?.steps ?? {}))
      if (value(key) !== reported)
        yield `The step ${key} of ${task.id} ended as ${reported}, and ${String(value(key))} is stored.`;
    if (report && Object.keys(report.steps).length !== stored.size)
      yield `The task ${task.id} reports ${Object.keys(report.steps).length} steps, and ${stored.size} are stored.`;
  }
});
