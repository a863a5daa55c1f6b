import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError } from "../json-rpc";
import { retryAfter } from "../service/thrown";
import type { TaskError, TaskErrorCode } from "../task/errors";

type Wire = readonly [status: number, code: number];
/** What the revisions have different codes for. */
type Apart = "capability_missing" | "task_required";

/**
 * What the inside calls it → what all revisions say. Codes of our own lie outside the range that JSON-RPC and MCP reserve.
 * A status of its own has only what a client or a proxy must see without reading: 404 would end a session, and a 400
 * without a code of the modern era sends clients back to `initialize` (2026-07-28 transports §Backward Compatibility).
 */
const COMMON: Readonly<Record<Exclude<TaskErrorCode, Apart>, Wire>> = {
  not_found: [200, INVALID_PARAMS],
  invalid: [200, INVALID_PARAMS],
  unknown_tool: [200, INVALID_PARAMS],
  settled: [200, INVALID_PARAMS],
  conflict: [200, 40900],
  limit_reached: [200, 42900],
  rate_limited: [429, 42901],
  too_large: [413, 41300],
  overloaded: [503, INTERNAL_ERROR],
  misconfigured: [500, INTERNAL_ERROR],
  internal: [500, INTERNAL_ERROR],
};

export function toRevisionError(
  { code, message, data }: TaskError,
  apart: Readonly<Record<Apart, Wire>>,
): JsonRpcError {
  const [status, number] = { ...COMMON, ...apart }[code];
  const { retryAfterMs } = data;
  const waits = (status === 429 || status === 503) && retryAfterMs !== undefined;
  return new JsonRpcError(status, number, message, {
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(waits ? { headers: retryAfter(retryAfterMs) } : {}),
  });
}
