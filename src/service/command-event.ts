import type { Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import { sortAnswers } from "./check-answer";
import type { Limits } from "./limits";
import type { Command } from "./task-store";

/** What an outsider's command means for the task as it stands, whatever it is stored in. `at` is Unix ms. */
export function eventFor(task: Task, command: Command, limits: Limits, at: number): TaskEvent {
  switch (command.kind) {
    case "cancel":
      return { type: "cancelled", at, minTtlMs: limits.minTtlMs };
    case "answer": {
      const sorted = sortAnswers(task, command.answers, limits.resultLimitBytes);
      return { type: "answered", at, ...sorted, ...(command.turn ? { turn: { ...command.turn, at } } : {}) };
    }
    case "say":
      return { type: "said", at, turn: { ...command.turn, at }, statusMessage: command.statusMessage };
    case "push":
      return { type: "push_set", at, target: command.target };
    case "unpush":
      return { type: "push_removed", at, id: command.id };
  }
}
