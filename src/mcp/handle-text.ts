import type { OpenQuestion, TaskSnapshot } from "../service/task-store";
import type { ToolResult } from "../tool/define-tool";
import { progressText } from "./progress-text";
import { toTask } from "./task-view";

/** What programs read of a helper's answer; the model reads the text. */
const TASK_META = "dev.holdfast/task";

/**
 * What a call that outlives its wait answers: which task it is, and what to call next. `promised`: what was called has an
 * output schema. No `structuredContent`: hosts that find some show the model nothing else.
 */
export const toHandle = (task: TaskSnapshot, promised = false): ToolResult =>
  // Clients refuse a result without what was promised, unless it says that something was amiss.
  toText(task, task.stage.phase === "input_required" ? askingText(task) : workingText(task), promised);

/** A helper's answer about a task. */
export function toText(task: TaskSnapshot, text: string, isError = false): ToolResult {
  const { taskId, status } = toTask(task);
  return { content: [{ type: "text", text }], ...(isError && { isError }), _meta: { [TASK_META]: { taskId, status } } };
}

/** What is asked, of whom, and how the answer is given. */
export function askingText({ id, tool, openQuestions }: TaskSnapshot): string {
  const questions = openQuestions.map(explain);
  const answers = Object.fromEntries(questions.map(({ key, example }) => [key, example]));
  return [
    `The call of "${tool}" goes on as task ${id} and waits for an answer.`,
    ...questions.map(({ key, text }) => `Question ${JSON.stringify(key)}${text}`),
    `Answer by calling task_answer with ${JSON.stringify({ taskId: id, answers })}, then ${resultCall(id)}.`,
  ].join("\n\n");
}

function workingText({ id, tool, statusMessage, progress }: TaskSnapshot): string {
  const how = statusMessage ?? (progress && progressText(progress));
  return (
    `The call of "${tool}" is still running, as task ${id}${how ? ` (${how})` : ""}. It goes on by itself: do not repeat the call. ` +
    `Call ${resultCall(id)} to wait for its result, or task_cancel to stop it.`
  );
}

export const resultCall = (taskId: string): string => `task_result with ${JSON.stringify({ taskId })}`;

/** A question in words, and an answer that would do. */
function explain({ key, request: { method, params } }: OpenQuestion) {
  switch (method) {
    case "elicitation/create": {
      const { mode, message, url, requestedSchema } = params;
      const [means, content] =
        mode === "url"
          ? [`once they agree to open ${String(url)} in a browser`, {}]
          : [`and content that fits the JSON Schema ${JSON.stringify(requestedSchema)}`, { content: {} }];
      return {
        key,
        text: `, for the user, who alone decides: ${String(message)}\nAnswer with action "accept" ${means}, or with action "decline" or "cancel".`,
        example: { action: "accept", ...content },
      };
    }
    case "sampling/createMessage":
      return {
        key,
        text: `, for you: write the next message to ${JSON.stringify(params)}`,
        example: { role: "assistant", model: "", content: { type: "text", text: "" } },
      };
    case "roots/list":
      return {
        key,
        text: ": which folders may be used? List them as file:// URIs.",
        example: { roots: [{ uri: "file:///" }] },
      };
  }
}
