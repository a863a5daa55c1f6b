import * as z from "zod/mini";
import { isObject, type JsonObject } from "./task/json";
import { QUEUE_NAME, TOOL_NAME } from "./tool/declaration";
import type { RemoteTool } from "./tool/remote-tool";

const count = z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER));
// Kept as it is: a schema may have members of any name, and what it says is checked later.
const object = z.custom<JsonObject>(isObject);

/** A remote tool as it is declared, in `REMOTE_TOOLS` or over the store API. What its schemas say is checked later. */
export const remoteToolSchema = z.strictObject({
  name: z.string().check(z.regex(TOOL_NAME)),
  title: z.optional(z.string().check(z.maxLength(256))),
  description: z.string().check(z.minLength(1), z.maxLength(10_000)),
  inputSchema: object,
  outputSchema: z.optional(object),
  queue: z.string().check(z.regex(QUEUE_NAME)),
  task: z.optional(z.enum(["required", "optional"])),
  asks: z.optional(z.array(z.enum(["form", "url", "sampling", "roots"]))),
  ttlMs: z.optional(z.nullable(count)),
  pollIntervalMs: z.optional(count),
  maxAttempts: z.optional(count),
  annotations: z.optional(object),
}) as unknown as z.ZodMiniType<RemoteTool, unknown>;
