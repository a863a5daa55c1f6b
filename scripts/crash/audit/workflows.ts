import { reportIn } from "../load/errands.ts";
import { endOf } from "./ends.ts";
import { findings } from "./evidence.ts";
import type { StoredTask } from "./storage.ts";

/** A Workflow ends when its task has ended, and not before; and the task is worked on by its Workflow alone. */
export const workflows = findings("a Workflow to each task", function* ({ storage, now }) {
  const known = Map.groupBy(storage.workflows ?? [], ({ task }) => task);
  for (const [id, some] of known) {
    if (some.length > 1) yield `The task ${id} has ${some.length} Workflows.`;
    const task = storage.tasks.get(id);
    for (const { ends, error } of some) {
      if (ends.includes("errored")) yield `The Workflow of the task ${id} failed: ${error}.`;
      const isOver = !task || task.facts.stage.phase === "settled" || hasExpired(task, now);
      if (ends.length > 0 && !isOver)
        yield `The Workflow of the task ${id} is ${ends.join(", ")}, and the task is ${task.facts.stage.phase}.`;
    }
  }
  for (const { id, facts, log } of storage.tasks.values())
    if (facts.tool === WORKFLOW && !known.has(id) && log.some(({ event }) => event === "started"))
      yield `The task ${id} was begun, and the engine has no Workflow of it.`;
});

/** An errand ends as it says itself, unless it was cancelled or has expired: nothing that goes wrong here ends it. */
export const ownEnds = findings("an end of its own", function* ({ storage }) {
  for (const task of storage.tasks.values()) {
    const end = endOf(task);
    if (!ERRANDS.includes(task.facts.tool) || !end || end.kind === "cancelled") continue;
    if (reportIn(end.report)?.id !== task.id)
      yield `The task ${task.id} ended with what is not its own: ${end.report}.`;
  }
});

const WORKFLOW = "workflow_errand";
const ERRANDS: readonly string[] = ["errand", WORKFLOW];

const hasExpired = ({ facts: { createdAt, ttlMs } }: StoredTask, now: number): boolean =>
  ttlMs !== null && now >= createdAt + ttlMs;
