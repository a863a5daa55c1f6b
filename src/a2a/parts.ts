import type { Part } from "@a2a-js/sdk";
import type { JsonObject } from "../task/json";
import type { ContentBlock, ToolResult } from "../tool/define-tool";
import { TASK_FACTS_URI } from "./extensions";

type Bytes = Extract<Part["content"], { $case: "raw" }>["value"];

/** The SDK's converters take Node's own kind of bytes only; the Worker declares none of Node's types. */
const { Buffer } = globalThis as unknown as {
  readonly Buffer: { from(text: string, encoding: "base64"): Bytes };
};

export const bytesOf = (base64: string): Bytes => Buffer.from(base64, "base64");

export const textPart = (text: string): Part => part({ $case: "text", value: text }, "text/plain");

/** Of any JSON, null too. */
export const dataPart = (value: unknown): Part => part({ $case: "data", value }, "application/json");

/**
 * A tool's result, block by block, and its structured content last. The text block that only repeats that, which a tool
 * that returned a plain value did not write, is left out.
 */
export function toParts({ content, structuredContent }: ToolResult): Part[] {
  if (structuredContent === undefined) return content.map(toPart);
  const repeated = JSON.stringify(structuredContent);
  const rest = content.filter((block) => block.type !== "text" || block["text"] !== repeated);
  return [...rest.map(toPart), dataPart(structuredContent)];
}

const part = (content: Part["content"], mediaType = "", filename = "", metadata?: JsonObject): Part => ({
  content,
  metadata,
  filename,
  mediaType,
});

/** The fields of all kinds of block; which of them one has was checked when the tool returned it. */
type AnyBlock = {
  readonly text: string;
  readonly data: string;
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly resource: {
    readonly uri: string;
    readonly text: string;
    readonly blob?: string;
    readonly mimeType?: string;
    readonly _meta?: JsonObject;
  };
  readonly _meta?: JsonObject;
};

function toPart(block: ContentBlock): Part {
  const { text, data, uri, name, mimeType, resource, _meta } = block as unknown as AnyBlock;
  switch (block.type) {
    case "text":
      return { ...textPart(text), metadata: _meta };
    case "image":
    case "audio":
      return part({ $case: "raw", value: bytesOf(data) }, mimeType, "", _meta);
    case "resource_link":
      return part({ $case: "url", value: uri }, mimeType, name, _meta);
    case "resource": {
      const { blob } = resource;
      const metadata = { ...resource._meta, ..._meta, [TASK_FACTS_URI]: { uri: resource.uri } };
      const content: Part["content"] =
        blob === undefined ? { $case: "text", value: resource.text } : { $case: "raw", value: bytesOf(blob) };
      return part(content, resource.mimeType, fileName(resource.uri), metadata);
    }
    default:
      // A kind of a later revision: whole, rather than lost.
      return dataPart(block);
  }
}

/** The last segment of its path, where it has one. */
export const fileName = (uri: string): string =>
  uri
    .split(/[?#]/, 1)[0]
    ?.split("/")
    .findLast((segment) => segment !== "") ?? uri;
