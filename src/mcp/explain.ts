import { INTERNAL_ERROR, JsonRpcError } from "../json-rpc";
import { TaskError } from "../task/errors";
import type { McpDeps } from "./wing";

/** Whatever was thrown, as the wire says it. The text of an exception goes to the log and nowhere else. */
export function explainThrown(
  thrown: unknown,
  toJsonRpcError: (error: TaskError) => JsonRpcError,
  log: McpDeps["log"],
): JsonRpcError {
  if (thrown instanceof JsonRpcError) return thrown;
  const known = thrown instanceof TaskError ? toJsonRpcError(thrown) : null;
  if (known && known.status < 500) return known;
  const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  log?.({ level: "error", message: "A request failed.", error });
  return known ?? new JsonRpcError(500, INTERNAL_ERROR, "The server could not answer; its log says why.");
}
