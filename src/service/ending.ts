import type { JsonText } from "../task/json";
import { TaskError, tooLarge, type TaskErrorCode } from "../task/errors";
import type { Outcome, RpcError } from "../task/task";
import { ProtocolError, RefusalError, ToolError, type ToolResult } from "../tool/define-tool";
import type { RegisteredTool } from "../tool/registry";

/** An error says what went wrong; it is no place for a result. */
const MAX_MESSAGE_LENGTH = 100_000;

/** What a run of a tool came to. `retry`: the fault may pass, so another attempt is worth it. */
export type Ending = {
  readonly outcome: Extract<Outcome, { kind: "result" | "error" | "rejected" }>;
  readonly statusMessage: string | null;
  readonly retry: boolean;
  /** For the operator's log only. */
  readonly fault?: unknown;
};

/** What the tool returned, checked and within the limit. */
export function endingOf(tool: RegisteredTool, returned: unknown, limitBytes: number): Ending {
  const checked = tool.toResult(returned);
  if (!checked.ok) {
    return failed(-32603, `The tool "${tool.tool.name}" returned something that is not a valid result.`, {
      fault: checked.message,
    });
  }
  try {
    return resultEnding(checked.value, limitBytes);
  } catch (error) {
    if (error instanceof TaskError) return endingOfThrown(tool, error);
    return failed(-32603, "The tool's result cannot be written as JSON.", { fault: error });
  }
}

/** What the tool threw. Only messages meant for the caller are shown. */
export function endingOfThrown(tool: RegisteredTool, thrown: unknown): Ending {
  // Libraries put all kinds of things where a message belongs.
  const said: unknown = thrown instanceof Error && thrown.message;
  const message = typeof said === "string" ? said.slice(0, MAX_MESSAGE_LENGTH) : "";
  if (thrown instanceof ToolError) {
    const result: ToolResult = { content: [{ type: "text", text: message }], isError: true };
    return { ...resultEnding(result, Infinity), retry: thrown.retry };
  }
  if (thrown instanceof RefusalError) {
    return { outcome: { kind: "rejected", reason: message }, statusMessage: message, retry: false };
  }
  if (thrown instanceof ProtocolError) return failed(thrown.code, message, { data: thrown.data });
  if (thrown instanceof TaskError) return failed(codes[thrown.code] ?? -32603, message);
  return failed(-32603, `The tool "${tool.tool.name}" failed.`, { retry: true, fault: thrown });
}

/** The tool went on after a suspension: its author must be told, and nothing it returned can be trusted. */
export const swallowed = (tool: RegisteredTool): Ending =>
  failed(-32603, `The tool "${tool.tool.name}" caught the suspension of task.ask or task.sleep; it must let it pass.`);

/** JSON text is what is stored and counted: UTF-8 bytes. */
export function jsonText(value: unknown, limitBytes: number, what: string): JsonText {
  const text = JSON.stringify(value ?? null) as string | undefined;
  if (text === undefined) throw new TaskError("invalid", `${what} cannot be written as JSON.`);
  // A UTF-16 unit is at most three bytes, so most texts need no counting.
  if (text.length * 3 > limitBytes && new TextEncoder().encode(text).byteLength > limitBytes) {
    throw tooLarge(what, "RESULT_LIMIT_BYTES", limitBytes);
  }
  return text;
}

const codes: Partial<Record<TaskErrorCode, number>> = { invalid: -32602, too_large: 41300, limit_reached: 42900 };

/** Throws where it is too large, or cannot be written as JSON. */
export function resultEnding(result: ToolResult, limitBytes: number): Ending {
  const isError = result.isError === true;
  return {
    outcome: { kind: "result", result: jsonText(result, limitBytes, "The tool's result"), isError },
    statusMessage: isError ? firstText(result) : null,
    retry: false,
  };
}

export function failed(
  code: number,
  message: string,
  more: { data?: unknown; retry?: boolean; fault?: unknown } = {},
): Ending {
  const data = safeJson(more.data);
  const error: RpcError = {
    code: Number.isSafeInteger(code) ? code : -32603,
    message,
    ...(data === undefined ? {} : { data }),
  };
  return {
    outcome: { kind: "error", error },
    statusMessage: message,
    retry: more.retry ?? false,
    ...(more.fault === undefined ? {} : { fault: more.fault }),
  };
}

/** What cannot be written as JSON is left out: the error itself matters more. */
function safeJson(value: unknown): JsonText | undefined {
  try {
    return value === undefined ? undefined : JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Enough of an error for a status line; the whole text is in the result. */
function firstText(result: ToolResult): string {
  const block = result.content.find((content) => content.type === "text");
  const text = typeof block?.["text"] === "string" ? block["text"] : "The tool reported an error.";
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
