import type { InlineOutcome } from "../../service/call-inline";
import type { JsonText } from "../../task/json";
import type { ToolResult } from "../../tool/define-tool";
import { toThrown } from "../outcome";
import type { LegacyRevision } from "./revision";

/** What a call came to that ran within its request. */
export function toEnded(
  revision: LegacyRevision,
  outcome: Exclude<InlineOutcome, { kind: "input_required" }>,
): JsonText {
  if (outcome.kind === "error") throw toThrown(outcome.error);
  return toResultText(revision, outcome.result);
}

export const toResultText = (revision: LegacyRevision, result: ToolResult): JsonText =>
  JSON.stringify(revision.toCallToolResult(result));
