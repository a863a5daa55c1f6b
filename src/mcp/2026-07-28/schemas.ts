import * as z from "zod";
import { TaskError } from "../../task/errors";
import { isObject, type JsonObject } from "../../task/json";
import type { LogLevel } from "../../tool/context";
import type { Call } from "./call";

export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const IDEMPOTENCY_KEY = "dev.holdfast/idempotencyKey";

/** RFC 5424, least urgent first (logging §Log Levels). */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const satisfies readonly LogLevel[];

// A guard and not `z.record`: zod's objects lose a key named `__proto__`, and these are the caller's own data.
const jsonObject = z.custom<JsonObject>(isObject, "must be an object");
const text = z.string("must be a string");

const meta = z.object({
  progressToken: z.union([z.string(), z.int()], "must be a string or an integer").optional(),
  [LOG_LEVEL]: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).optional(),
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

/** The params in the shape the method wants. Whatever else they carry is ignored: peers may know more than we do. */
export function readParams<S extends z.ZodType>(call: Call, schema: S): z.output<S> {
  if (call.unsafeNumbers) {
    throw new TaskError(
      "invalid",
      "The request holds a number that cannot be kept exactly; send integers beyond 2^53 - 1 as strings.",
    );
  }
  const parsed = schema.safeParse(call.params);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new TaskError(
    "invalid",
    issue ? `params${pathText(issue.path)} ${issue.message}.` : "The params do not fit the method.",
  );
}

const pathText = (path: readonly PropertyKey[]): string =>
  path.map((key) => (typeof key === "string" && /^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`)).join("");
