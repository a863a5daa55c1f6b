import * as z from "zod";
import { IDEMPOTENCY_KEY, jsonObject, logLevel, progressToken, text } from "../schemas";

const meta = z.object({ progressToken: progressToken.optional(), [IDEMPOTENCY_KEY]: text.optional() }).optional();

export const InitializeParams = z.object({ protocolVersion: text, capabilities: jsonObject });

export const SetLevelParams = z.object({ level: logLevel });

/** Of tools, or of tasks. */
export const ListParams = z.object({ cursor: text.optional() });

export const CallToolParams = z.object({ _meta: meta, name: text, arguments: jsonObject.optional() });

export type CallToolParams = z.output<typeof CallToolParams>;
