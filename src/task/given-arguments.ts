import type { JsonObject } from "./json";
import type { Question, Task } from "./task";

/**
 * The answer to the question for missing arguments, laid over those that were given. Empty when there was no such
 * question, or it is still open; null when whoever was asked would not say. Nothing else is asked before the tool has run,
 * and whatever is asked later is the tool's own.
 */
export function givenArguments(task: Task, questions: readonly Question[]): Partial<Pick<Task, "arguments">> | null {
  if (task.startedAt !== null) return {};
  const answer = questions.find(({ state }) => state.kind === "answered");
  if (answer?.state.kind !== "answered") return {};
  const { action, content } = JSON.parse(answer.state.answer) as { action: string; content?: JsonObject };
  if (action !== "accept") return null;
  return { arguments: JSON.stringify({ ...(JSON.parse(task.arguments) as JsonObject), ...content }) };
}
