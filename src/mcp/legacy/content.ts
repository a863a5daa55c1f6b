import { isObject } from "../../task/json";
import type { ToolResult } from "../../tool/define-tool";

/** Structured content is an object, or is left out, before 2026-07-28; the text beside it says the same. */
export function withObjectContent(result: ToolResult): ToolResult {
  const { structuredContent, ...rest } = result;
  return structuredContent === undefined || isObject(structuredContent) ? result : rest;
}
