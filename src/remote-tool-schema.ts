import * as z from "zod/mini";
import { isObject, type JsonObject } from "./task/json";
import { QUEUE_NAME, TOOL_NAME } from "./tool/declaration";
import type { RemoteTool } from "./tool/remote-tool";
import { among, integer, matching, within } from "./tool/checks";

const count = integer().check(within(1));
// Kept as it is: a schema may have members of any name, and what it says is checked later.
const object = z.custom<JsonObject>(isObject);

/** A remote tool as it is declared, in `REMOTE_TOOLS` or over the store API. What its schemas say is checked later. */
export const remoteToolSchema = z.strictObject({
  name: z.string().check(matching(TOOL_NAME)),
  title: z.optional(z.string().check(within(0, 256))),
  description: z.string().check(within(1, 10_000)),
  inputSchema: object,
  outputSchema: z.optional(object),
  queue: z.string().check(matching(QUEUE_NAME)),
  task: z.optional(among(["required", "optional"])),
  asks: z.optional(z.array(among(["form", "url", "sampling", "roots"]))),
  ttlMs: z.optional(z.nullable(count)),
  pollIntervalMs: z.optional(count),
  maxAttempts: z.optional(count),
  annotations: z.optional(object),
}) as unknown as z.ZodMiniType<RemoteTool, unknown>;
