import { INTERNAL_ERROR, JsonRpcError } from "../json-rpc";
import type { Principal } from "../service/principal";
import { FAULT, logThrown } from "../service/thrown";
import { TaskError } from "../task/errors";
import type { McpDeps } from "./wing";

/** Whatever was thrown, as the wire says it, and a line of it in the log. */
export function explainThrown(
  thrown: unknown,
  toJsonRpcError: (error: TaskError) => JsonRpcError,
  log: McpDeps["log"],
  principal?: Principal,
): JsonRpcError {
  const error =
    thrown instanceof TaskError
      ? toJsonRpcError(thrown)
      : thrown instanceof JsonRpcError
        ? thrown
        : new JsonRpcError(500, INTERNAL_ERROR, FAULT);
  // One of the wire's own with such a status is no fault of ours.
  if (error === thrown && error.status >= 500) return error;
  const code = thrown instanceof TaskError ? thrown.code : String(error.code);
  logThrown(thrown, { status: error.status, code }, log, principal);
  return error;
}
