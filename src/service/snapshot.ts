import { outstanding, type Task } from "../task/task";
import type { TaskSnapshot } from "./task-store";

export function toSnapshot(task: Task): TaskSnapshot {
  const { arguments: _arguments, prepared, extras, toolVersion, questions, sleeps, steps, ...facts } = task;
  return { ...facts, openQuestions: outstanding(task).map(({ key, request }) => ({ key, request })) };
}

/** For feeds: the phase and the kind of outcome without its body, which may be megabytes. */
export function withoutBody(task: TaskSnapshot): TaskSnapshot {
  if (task.stage.phase !== "settled" || task.stage.outcome.kind !== "result") return task;
  return { ...task, stage: { ...task.stage, outcome: { ...task.stage.outcome, result: "null" } } };
}
