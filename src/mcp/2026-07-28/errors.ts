import type { JsonRpcError } from "../../json-rpc";
import { TaskError } from "../../task/errors";
import { MISSING_REQUIRED_CLIENT_CAPABILITY } from "../error-codes";
import { toRevisionError } from "../errors";

const MISSING = [400, MISSING_REQUIRED_CLIENT_CAPABILITY] as const;

export function toJsonRpcError(error: TaskError): JsonRpcError {
  const { code, message, data } = error;
  const missing = code === "capability_missing" || code === "task_required";
  // It must say what is required, as a `ClientCapabilities` object (schema, MissingRequiredClientCapabilityError).
  const told = missing ? new TaskError(code, message, { requiredCapabilities: {}, ...data }) : error;
  return toRevisionError(told, { capability_missing: MISSING, task_required: MISSING });
}
