import type { Outcome } from "../journal.ts";
import { outcomeIn } from "../load/errands.ts";
import type { Fields } from "../wire.ts";
import { findings } from "./evidence.ts";
import { textOf, type StoredTask } from "./storage.ts";

/** What clients were told came of a task is what is stored. */
export const ends = findings("one outcome", function* ({ storage, journal }) {
  for (const { id, outcome, settledSeen } of journal.tasks.values()) {
    const task = storage.tasks.get(id);
    if (!task || settledSeen === null) continue;
    const stored = endOf(task);
    if (!stored) yield `The task ${id} was seen settled, and is stored ${task.facts.stage.phase}.`;
    else if (outcome && (stored.kind !== outcome.kind || stored.report !== outcome.report))
      yield `The task ${id} was seen to end as ${JSON.stringify(outcome)}, and ${JSON.stringify(stored)} is stored.`;
  }
});

/** Null while it has not ended. */
export function endOf(task: StoredTask): Outcome | null {
  const { stage } = task.facts;
  if (stage.phase !== "settled") return null;
  switch (stage.outcome.kind) {
    case "result":
      return (
        outcomeIn({ result: JSON.parse(textOf(task, "outcome") ?? "{}") as Fields }) ?? { kind: "result", report: null }
      );
    case "error":
      return { kind: "error", report: stage.outcome.error.message };
    case "rejected":
      return { kind: "error", report: stage.outcome.reason };
    case "cancelled":
      return { kind: "cancelled", report: null };
    case "expired":
      return null;
  }
}
