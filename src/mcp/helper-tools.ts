import { holdTask, type HoldOptions } from "../service/bridge";
import type { Principal } from "../service/principal";
import type { TaskSnapshot } from "../service/task-store";
import { TaskError } from "../task/errors";
import type { JsonObject, JsonText } from "../task/json";
import type { HELPER_TOOLS } from "../tool/declaration";
import type { ToolResult } from "../tool/define-tool";
import { compileJsonSchema } from "../tool/json-schema";
import { askingText, resultCall, toHandle, toText } from "./handle-text";
import { listPage } from "./list-page";
import { errorOf, toolError } from "./outcome";
import { statusOf } from "./task-view";
import type { McpDeps } from "./wing";

export type HelperDeps = Pick<McpDeps, "tasks" | "config" | "sealer" | "clock">;

/** How a helper that waits may speak to its caller: as a held call may. */
export type HelperExchange = Pick<HoldOptions, "signal" | "onProgress" | "deliver" | "onDeliver"> & {
  /** The answer is only that this task asks something: a caller that can have its client asked may do so instead. */
  readonly onAsking?: (task: TaskSnapshot) => void;
};

/** A tool of the server's own, with which a model looks after the tasks that its calls became (design decision 14). */
export type HelperTool = {
  readonly name: (typeof HELPER_TOOLS)[number];
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly annotations: JsonObject;
  /** Arguments as the caller sent them. What a model can mend is a result with `isError`; throws only what is our fault. */
  call(args: JsonObject, exchange: HelperExchange): Promise<ToolResult>;
};

/** Those this caller may use: anonymous ones have no list. */
export function helperTools(deps: HelperDeps, principal: Principal): readonly HelperTool[] {
  const tools = [taskResult(deps, principal), taskAnswer(deps, principal), taskCancel(deps, principal)];
  return (principal.kind === "anonymous" ? tools : [...tools, taskList(deps, principal)]).map(careful);
}

const taskId: JsonObject = { type: "string", description: "As the call gave it that became the task." };

function taskResult({ tasks, config }: HelperDeps, principal: Principal): HelperTool {
  const longest = config.inlineWaitMs;
  return {
    name: "task_result",
    title: "Result of a task",
    description:
      "Waits for a task and returns the result of its call. Use it when a call answered with a taskId, and again only if it says that the task still runs.",
    inputSchema: {
      type: "object",
      properties: {
        taskId,
        waitMs: {
          type: "integer",
          minimum: 0,
          description: `Longest wait in ms; ${longest} at most, and if left out.`,
        },
      },
      required: ["taskId"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async call({ taskId: id, waitMs = longest }, exchange) {
      const wait = Math.min(waitMs as number, longest);
      const task = await holdTask(tasks, principal, id as string, { ...exchange, waitMs: wait });
      if (task.stage.phase === "input_required") exchange.onAsking?.(task);
      return toEnded(task);
    },
  };
}

function taskAnswer({ tasks }: HelperDeps, principal: Principal): HelperTool {
  return {
    name: "task_answer",
    title: "Answer a task's questions",
    description:
      "Answers what a task asks. Use it when a call or task_result says that a task waits for an answer, and with what the user said where a question is for the user.",
    inputSchema: {
      type: "object",
      properties: {
        taskId,
        answers: {
          type: "object",
          description:
            'An answer for each question\'s key, such as { "confirm": { "action": "accept", "content": {} } }.',
          additionalProperties: { type: "object" },
        },
      },
      required: ["taskId", "answers"],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    async call({ taskId: id, answers }) {
      const given = Object.entries(answers as JsonObject);
      const texts = given.map(([key, answer]): [string, JsonText] => [key, JSON.stringify(answer)]);
      const { openQuestions } = await tasks.get(principal, id as string);
      const task = await tasks.answer(principal, id as string, Object.fromEntries(texts));
      if (task.stage.phase === "settled") return toText(task, endedBefore(task));
      const unasked = given.map(([key]) => key).filter((key) => openQuestions.every((open) => open.key !== key));
      const stray = unasked.map((key) => `Not asked, or answered before: ${JSON.stringify(key)}.\n\n`).join("");
      const asks = task.stage.phase === "input_required";
      return toText(task, stray + (asks ? askingText(task) : `Nothing is left to answer. ${fetchIt(task)}`));
    },
  };
}

function taskCancel({ tasks }: HelperDeps, principal: Principal): HelperTool {
  return {
    name: "task_cancel",
    title: "Cancel a task",
    description: "Stops a task for good. Use it when its result is not wanted any more.",
    inputSchema: { type: "object", properties: { taskId }, required: ["taskId"] },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    async call({ taskId: id }) {
      const { task, changed } = await tasks.cancel(principal, id as string);
      return toText(task, changed ? "The task is cancelled." : endedBefore(task));
    },
  };
}

function taskList(deps: HelperDeps, principal: Principal): HelperTool {
  return {
    name: "task_list",
    title: "List tasks",
    description: "Lists your tasks, newest first. Use it to find a task whose id got lost.",
    inputSchema: {
      type: "object",
      properties: { cursor: { type: "string", description: "As the page before gave it, for the next one." } },
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    async call({ cursor: from }) {
      const { rows, nextCursor: cursor } = await listPage(deps, principal, from as string | undefined);
      const lines = rows.map(
        ({ id, tool, phase, outcome, createdAt }) =>
          `${id} ${tool}: ${statusOf(phase, outcome)}, begun ${ageText(deps.clock() - createdAt)} ago`,
      );
      if (cursor !== undefined) lines.push(`More: task_list with ${JSON.stringify({ cursor })}.`);
      return { content: [{ type: "text", text: lines.join("\n") || "No tasks." }] };
    },
  };
}

/** What the model can mend it gets to read; missing, foreign, forged and expired tasks read the same. */
function careful(tool: HelperTool): HelperTool {
  return {
    ...tool,
    async call(args, exchange) {
      const checked = compileJsonSchema(tool.inputSchema, tool.name).check(args, "arguments");
      if (!checked.ok) return toolError(checked.message);
      try {
        return await tool.call(args, exchange);
      } catch (thrown) {
        if (thrown instanceof TaskError && (thrown.code === "not_found" || thrown.code === "invalid"))
          return toolError(thrown.message);
        throw thrown;
      }
    },
  };
}

/** What the tool returned, unchanged; or why there is nothing of the kind. */
function toEnded(task: TaskSnapshot): ToolResult {
  if (task.stage.phase !== "settled") return toHandle(task);
  const { outcome } = task.stage;
  if (outcome.kind === "result") return JSON.parse(outcome.result) as ToolResult;
  return toText(task, errorOf(outcome)?.message ?? "The task was cancelled.", true);
}

const endedBefore = (task: TaskSnapshot): string => `The task had ended before. ${fetchIt(task)}`;

const fetchIt = ({ id }: TaskSnapshot): string => `Call ${resultCall(id)} for its result.`;

function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}
