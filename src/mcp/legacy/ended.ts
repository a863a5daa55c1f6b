import { JsonRpcError } from "../../json-rpc";
import type { InlineOutcome } from "../../service/call-inline";
import type { JsonText } from "../../task/json";
import type { Outcome, RpcError } from "../../task/task";
import type { ToolResult } from "../../tool/define-tool";
import { errorOf } from "../outcome";
import type { LegacyRevision } from "./revision";

/** What a call came to that ran within its request. */
export function toEnded(
  revision: LegacyRevision,
  outcome: Exclude<InlineOutcome, { kind: "input_required" }>,
): JsonText {
  if (outcome.kind === "error") throw toThrown(outcome.error);
  return toResultText(revision, outcome.result);
}

/** What a task came to, as its call would have been answered. */
export function toEndedTask(revision: LegacyRevision, outcome: Outcome): JsonText {
  const error = errorOf(outcome);
  if (error) throw toThrown(error);
  return outcome.kind === "result"
    ? toResultText(revision, JSON.parse(outcome.result) as ToolResult)
    : toToolError(revision, "The call was cancelled.");
}

export const toResultText = (revision: LegacyRevision, result: ToolResult): JsonText =>
  JSON.stringify(revision.toCallToolResult(result));

export const toToolError = (revision: LegacyRevision, text: string): JsonText =>
  toResultText(revision, { content: [{ type: "text", text }], isError: true });

export const toThrown = ({ code, message, data }: RpcError): JsonRpcError =>
  new JsonRpcError(200, code, message, data === undefined ? {} : { data: JSON.parse(data) as unknown });
