import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError } from "../json-rpc";
import { notFound } from "../task/errors";
import type { Outcome, RpcError } from "../task/task";
import type { ToolResult } from "../tool/define-tool";

/** The JSON-RPC error that a settled task ended in; null when it ended otherwise. */
export function errorOf(outcome: Outcome): RpcError | null {
  switch (outcome.kind) {
    case "error":
      return outcome.error;
    case "rejected":
      return { code: INTERNAL_ERROR, message: outcome.reason };
    case "expired":
      return { code: INVALID_PARAMS, message: notFound().message };
    case "result":
    case "cancelled":
      return null;
  }
}

/** What a task came to, as its call would have been answered. Throws the error that it ended in. */
export function resultOf(outcome: Outcome): ToolResult {
  const error = errorOf(outcome);
  if (error) throw toThrown(error);
  return outcome.kind === "result" ? (JSON.parse(outcome.result) as ToolResult) : toolError("The call was cancelled.");
}

export const toolError = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: true });

export const toThrown = ({ code, message, data }: RpcError): JsonRpcError =>
  new JsonRpcError(200, code, message, data === undefined ? {} : { data: JSON.parse(data) as unknown });
