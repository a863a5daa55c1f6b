import * as z from "zod/mini";
import { requireExactNumbers } from "../json";
import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import { among } from "../tool/checks";
import type { LogLevel } from "../tool/context";
import { fieldName } from "../tool/field-name";

// What the revisions' schemas are made of. They are loose: a peer may send more than we know.

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
export const jsonObject = z.custom<JsonObject>(isObject, "must be an object");
export const text = z.string("must be a string");
export const logLevel = among(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`);
export const progressToken = z.custom<string | number>(
  (value) => typeof value === "string" || Number.isSafeInteger(value),
  "must be a string or an integer",
);

/** What of a request its schema looks at. */
export type RawParams = {
  readonly params: JsonObject;
  /** The body holds a number that JavaScript cannot represent: what was parsed is not what was sent. */
  readonly unsafeNumbers: boolean;
};

/** The params in the shape the method wants. Whatever else they carry is ignored. */
export function readParams<S extends z.ZodMiniType>({ params, unsafeNumbers }: RawParams, schema: S): z.output<S> {
  requireExactNumbers(unsafeNumbers);
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] as z.core.$ZodIssue;
  throw new TaskError("invalid", `${fieldName("params", path)} ${message}.`);
}
