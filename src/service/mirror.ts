import { expiresAt, type Task } from "../task/task";
import { earliest, nextDue } from "../task/due";
import { standingOfTask } from "../task/standing";
import type { Mirror } from "./task-index";

/** How late a live task may be before the sweep sets it going again: its own alarm gets the first chance. */
const LATE_MS = 60_000;

/** The task's row for its owner's index. `runUntil` is when a run of it must have ended, null when none goes on. */
export function mirrorOf(task: Task, now: number, retentionMs: number, runUntil: number | null): Mirror {
  const expiry = expiresAt(task, retentionMs);
  const alarm = earliest(nextDue(task, now), runUntil);
  return {
    id: task.id,
    version: task.version,
    phase: task.stage.phase,
    outcome: task.stage.phase === "settled" ? task.stage.outcome.kind : null,
    standing: standingOfTask(task),
    statusAt: task.statusAt,
    // When the sweep should look: at the expiry, or once the task's own alarm must have been lost.
    due: earliest(expiry, alarm === null ? null : alarm + LATE_MS),
    expiresAt: expiry,
  };
}
