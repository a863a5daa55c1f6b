import { outstanding, type Task } from "../task/task";
import type { Conversation, ReadOptions, TaskSnapshot } from "./task-store";

export function toSnapshot(task: Task): TaskSnapshot {
  const { arguments: _arguments, prepared, unprepared, extras, toolVersion, ...told } = task;
  const { questions, sleeps, steps, turns, push, ...facts } = told;
  return { ...facts, openQuestions: outstanding(task).map(({ key, request }) => ({ key, request })) };
}

/** The phase and the kind of outcome without the body of a result, which may be megabytes. */
export function withoutBody<T extends Pick<Task, "stage">>(task: T): T {
  if (task.stage.phase !== "settled" || task.stage.outcome.kind !== "result") return task;
  return { ...task, stage: { ...task.stage, outcome: { ...task.stage.outcome, result: "null" } } };
}

/** What a reader asked for. */
export function toldOf(task: Task, { body = true, conversation = false }: ReadOptions = {}): TaskSnapshot {
  const told = body ? toSnapshot(task) : withoutBody(toSnapshot(task));
  return conversation ? { ...told, conversation: conversationOf(task) } : told;
}

const conversationOf = ({ arguments: args, extras, questions, turns, push }: Task): Conversation => ({
  arguments: args,
  extras,
  questions,
  turns,
  push,
});
