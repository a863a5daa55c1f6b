import type { JsonObject } from "../task/json";
import { metaOf } from "./envelope";

/** `traceparent` of W3C Trace Context; anything else in its place is untrusted text and left out. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The caller's trace, for the task to go on with (MCP 2026-07-28 base §OpenTelemetry trace context). */
export function traceOf(params: JsonObject): { readonly traceparent?: string } {
  const { traceparent } = metaOf(params);
  return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? { traceparent } : {};
}
