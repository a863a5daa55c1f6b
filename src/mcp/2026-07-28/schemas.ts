import * as z from "zod/mini";
import { IDEMPOTENCY_KEY, jsonObject, logLevel, progressToken, text } from "../schemas";

export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

const meta = z.object({
  progressToken: z.optional(progressToken),
  [LOG_LEVEL]: z.optional(logLevel),
  [IDEMPOTENCY_KEY]: z.optional(text),
});

export const RequestParams = z.object({ _meta: meta });

export const ListToolsParams = z.object({ _meta: meta, cursor: z.optional(z.unknown()) });

export const CallToolParams = z.object({
  _meta: meta,
  name: text,
  arguments: z.optional(jsonObject),
  inputResponses: z.optional(jsonObject),
  requestState: z.optional(text),
});

export const TaskParams = z.object({ _meta: meta, taskId: text });

export const UpdateTaskParams = z.object({ _meta: meta, taskId: text, inputResponses: jsonObject });

export const ListenParams = z.object({
  _meta: meta,
  notifications: z.object(
    {
      toolsListChanged: z.optional(z.boolean("must be true or false")),
      taskIds: z.optional(z.array(text, "must be a list of task ids")),
    },
    "must be an object",
  ),
});

export type CallToolParams = z.output<typeof CallToolParams>;
export type RequestMeta = z.output<typeof meta>;
