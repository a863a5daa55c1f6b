import { isObject } from "../../task/json";
import type { ToolResult } from "../../tool/define-tool";
import { toTool as toNewestTool, type ListedTool } from "../listed-tools";

/** Output schemas are of objects until 2026-07-28 (schema, Tool). */
export const toTool = (tool: ListedTool) => ({
  ...toNewestTool(tool),
  outputSchema: tool.outputSchema?.["type"] === "object" ? tool.outputSchema : undefined,
});

/** Structured content is an object, or is left out, before 2026-07-28; the text beside it says the same. */
export function withObjectContent(result: ToolResult): ToolResult {
  const { structuredContent, ...rest } = result;
  return structuredContent === undefined || isObject(structuredContent) ? result : rest;
}
