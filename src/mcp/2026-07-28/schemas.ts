import * as z from "zod";
import { IDEMPOTENCY_KEY, jsonObject, logLevel, progressToken, text } from "../schemas";

export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

const meta = z.object({
  progressToken: progressToken.optional(),
  [LOG_LEVEL]: logLevel.optional(),
  [IDEMPOTENCY_KEY]: text.optional(),
});

export const RequestParams = z.object({ _meta: meta });

export const ListToolsParams = z.object({ _meta: meta, cursor: z.unknown().optional() });

export const CallToolParams = z.object({
  _meta: meta,
  name: text,
  arguments: jsonObject.optional(),
  inputResponses: jsonObject.optional(),
  requestState: text.optional(),
});

export const TaskParams = z.object({ _meta: meta, taskId: text });

export const UpdateTaskParams = z.object({ _meta: meta, taskId: text, inputResponses: jsonObject });

export const ListenParams = z.object({
  _meta: meta,
  notifications: z.object(
    {
      toolsListChanged: z.boolean("must be true or false").optional(),
      taskIds: z.array(text, "must be a list of task ids").optional(),
    },
    "must be an object",
  ),
});

export type CallToolParams = z.output<typeof CallToolParams>;
export type RequestMeta = z.output<typeof meta>;
