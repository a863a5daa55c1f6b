import type { ContentBlock, ToolResult } from "../../tool/define-tool";
import type { ListedTool } from "../listed-tools";

/** Titles stand in the annotations, and nothing is said about results (schema, Tool). */
export const toTool = ({ name, title, description, inputSchema, annotations }: ListedTool) => ({
  name,
  description,
  inputSchema,
  annotations: title === undefined ? annotations : { title, ...annotations },
});

/** Without structured content, which came later: the text beside it says the same. */
export function toCallToolResult({ structuredContent: _, content, ...rest }: ToolResult): ToolResult {
  return { ...rest, content: content.map(toContent) };
}

/** Links are not known yet, and a client may refuse the whole result for one block it does not know. */
const toContent = (block: ContentBlock): ContentBlock =>
  block.type === "resource_link" ? { type: "text", text: `${String(block["name"])}: ${String(block["uri"])}` } : block;
