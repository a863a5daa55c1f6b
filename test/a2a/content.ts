import type { Part } from "@a2a-js/sdk";
import { TASK_FACTS_URI } from "../../src/a2a/extensions";
import { fileName } from "../../src/a2a/parts";
import { isObject, type JsonObject } from "../../src/task/json";
import type { ContentBlock, ToolResult } from "../../src/tool/define-tool";

/** Parts read back as what a tool returned: nothing of that may be lost on the way. The last data part is the structured content; others are text. */
export function toContent(parts: readonly Part[]): Pick<ToolResult, "content" | "structuredContent"> {
  const data = parts.findLast(({ content }) => content?.$case === "data");
  const content = parts.filter((one) => one !== data && one.content).map(toBlock);
  return data ? { content, structuredContent: data.content?.value as unknown } : { content };
}

function toBlock({ content, metadata, filename, mediaType }: Part): ContentBlock {
  const { [TASK_FACTS_URI]: facts, ...others } = (metadata ?? {}) as JsonObject;
  const meta = Object.keys(others).length > 0 ? { _meta: others } : {};
  const type = mediaType === "" ? {} : { mimeType: mediaType };
  const resource = (body: object): ContentBlock => {
    const known = isObject(facts) && typeof facts["uri"] === "string" ? facts["uri"] : undefined;
    const uri = known ?? `attachment:${encodeURIComponent(filename.toWellFormed())}`;
    return { type: "resource", resource: { uri, ...type, ...body }, ...meta };
  };
  switch (content?.$case) {
    case "text":
      return filename === "" ? { type: "text", text: content.value, ...meta } : resource({ text: content.value });
    case "raw": {
      const data = content.value.toString("base64") as string;
      const kind = /^(?:image|audio)(?=\/)/.exec(mediaType)?.[0];
      return kind && filename === "" ? { type: kind, data, mimeType: mediaType, ...meta } : resource({ blob: data });
    }
    case "url":
      return { type: "resource_link", uri: content.value, name: filename || fileName(content.value), ...type, ...meta };
    default:
      return { type: "text", text: JSON.stringify(content?.value ?? null), ...meta };
  }
}
