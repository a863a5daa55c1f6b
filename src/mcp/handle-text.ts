import type { OpenQuestion, TaskSnapshot } from "../service/task-store";
import type { JsonObject } from "../task/json";
import type { Outcome, Phase } from "../task/task";
import type { ContentBlock, ToolResult } from "../tool/define-tool";
import { progressText } from "./progress-text";

/** What programs read of a helper's answer; the model reads the text. */
export const TASK_META = "dev.holdfast/task";

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/**
 * What a call that outlives its wait answers: which task it is, and what to call next. `promised`: what was called has an
 * output schema. No `structuredContent`: hosts that find some show the model nothing else.
 */
export function toHandle(task: TaskSnapshot, { promised = false } = {}): ToolResult {
  const asks = task.stage.phase === "input_required";
  return toText(task, asks ? askingText(task) : workingText(task), {
    // Clients refuse a result without what was promised, unless it says that something was amiss.
    isError: promised,
  });
}

/** A helper's answer about a task. */
export function toText(task: TaskSnapshot, text: string, { isError = false } = {}): ToolResult {
  const { phase } = task.stage;
  const status = statusOf(phase, phase === "settled" ? task.stage.outcome.kind : null);
  const content: readonly ContentBlock[] = [{ type: "text", text }];
  return { content, ...(isError ? { isError } : {}), _meta: { [TASK_META]: { taskId: task.id, status } } };
}

/** One word for where a task stands, as the newest revision has them. */
export function statusOf(phase: Phase, outcome: Outcome["kind"] | null): TaskStatus {
  if (phase !== "settled") return phase === "submitted" ? "working" : phase;
  switch (outcome) {
    case "result":
      return "completed";
    case "cancelled":
      return "cancelled";
    case "error":
    case "rejected":
    case "expired":
    case null:
      return "failed";
  }
}

/** What is asked, of whom, and how the answer is given. */
export function askingText({ id, tool, openQuestions }: TaskSnapshot): string {
  const answers = Object.fromEntries(openQuestions.map(({ key, request }) => [key, exampleAnswer(request)]));
  return [
    `The call of "${tool}" goes on as task ${id} and waits for an answer.`,
    ...openQuestions.map(questionText),
    `Answer by calling task_answer with ${JSON.stringify({ taskId: id, answers })}, then task_result with ${target(id)}.`,
  ].join("\n\n");
}

function workingText({ id, tool, statusMessage, progress }: TaskSnapshot): string {
  const how = statusMessage ?? (progress && progressText(progress));
  return (
    `The call of "${tool}" is still running, as task ${id}${how ? ` (${how})` : ""}. It goes on by itself: do not repeat the call. ` +
    `Call task_result with ${target(id)} to wait for its result, or task_cancel to stop it.`
  );
}

const target = (id: string): string => JSON.stringify({ taskId: id });

function questionText({ key, request: { method, params } }: OpenQuestion): string {
  const label = `Question ${JSON.stringify(key)}`;
  const { message, url, requestedSchema } = params;
  switch (method) {
    case "elicitation/create":
      return params["mode"] === "url"
        ? `${label}, for the user: ${String(message)}\nThe user opens ${String(url)} in a browser. Answer with action "accept" once they agree to, "decline" if they do not.`
        : `${label}, for the user, who alone decides: ${String(message)}\nAnswer with action "accept" and content that fits the JSON Schema ${JSON.stringify(requestedSchema)}, or with action "decline" or "cancel".`;
    case "sampling/createMessage":
      return `${label}, for you: write the next message to ${JSON.stringify(params)}`;
    case "roots/list":
      return `${label}: which folders may be used? List them as file:// URIs.`;
  }
}

function exampleAnswer({ method, params }: OpenQuestion["request"]): JsonObject {
  switch (method) {
    case "elicitation/create":
      return params["mode"] === "url" ? { action: "accept" } : { action: "accept", content: {} };
    case "sampling/createMessage":
      return { role: "assistant", model: "", content: { type: "text", text: "" } };
    case "roots/list":
      return { roots: [{ uri: "file:///" }] };
  }
}
