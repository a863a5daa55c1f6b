import type { Accepts } from "./json-rpc";

/** Whether the body says it is JSON, in any capitals and with any parameters (RFC 9110 §8.3). */
export const isJson = (contentType: string | null): boolean =>
  contentType !== null && essence(contentType) === "application/json";

/**
 * Which answers the Accept header allows (RFC 9110 §12.5.1). MCP clients must list both types; proxies rewrite what
 * they send, so one type, a wildcard or no header at all is served in what is left.
 */
export function acceptsOf(header: string | null): Accepts {
  const ranges = (header ?? "").split(",").filter((range) => range.trim() !== "");
  if (ranges.length === 0) return { json: true, eventStream: true };
  const allowed = new Map(ranges.map((range) => [essence(range), !isRefused(range)]));
  const allows = (type: string): boolean => {
    // The most specific range decides, wherever it stands.
    const family = `${type.split("/")[0]}/*`;
    return allowed.get(type) ?? allowed.get(family) ?? allowed.get("*/*") ?? false;
  };
  return { json: allows("application/json"), eventStream: allows("text/event-stream") };
}

/** The type itself: in small letters, without parameters. */
export const essence = (value: string): string => (value.split(";")[0] ?? "").trim().toLowerCase();

const isRefused = (range: string): boolean => /;\s*q=0(?:\.0{0,3})?\s*(?:;|$)/i.test(range);
