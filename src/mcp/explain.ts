import { INTERNAL_ERROR, JsonRpcError } from "../json-rpc";
import { wasAudited } from "../service/audit";
import { ownerOf, type Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import type { McpDeps } from "./wing";

/**
 * Whatever was thrown, as the wire says it. The text of an exception goes to the log and nowhere else. A refusal leaves
 * a line, unless the service has written it; `principal` is undefined where nobody was let in.
 */
export function explainThrown(
  thrown: unknown,
  toJsonRpcError: (error: TaskError) => JsonRpcError,
  log: McpDeps["log"],
  principal?: Principal,
): JsonRpcError {
  const known = thrown instanceof TaskError ? toJsonRpcError(thrown) : thrown instanceof JsonRpcError ? thrown : null;
  if (known && known.status < 500) {
    const code = thrown instanceof TaskError ? thrown.code : String(known.code);
    const caller = principal === undefined ? {} : { principal: ownerOf(principal) };
    if (!wasAudited(thrown)) log?.({ audit: "refuse", ...caller, code, status: known.status });
    return known;
  }
  if (thrown instanceof JsonRpcError) return thrown;
  const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  log?.({ level: "error", message: "A request failed.", error });
  return known ?? new JsonRpcError(500, INTERNAL_ERROR, "The server could not answer; its log says why.");
}
