import * as z from "zod/mini";
import { IDEMPOTENCY_KEY, jsonObject, logLevel, progressToken, text } from "../schemas";

const meta = z.optional(
  z.object({ progressToken: z.optional(progressToken), [IDEMPOTENCY_KEY]: z.optional(text) }, "must be an object"),
);

export const InitializeParams = z.object({ protocolVersion: text, capabilities: jsonObject });

export const SetLevelParams = z.object({ level: logLevel });

/** Of tools, or of tasks. */
export const ListParams = z.object({ cursor: z.optional(text) });

export const callFields = { _meta: meta, name: text, arguments: z.optional(jsonObject) };

export const CallToolParams = z.object(callFields);

export type CallToolParams = z.output<typeof CallToolParams>;
