import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError } from "../../json-rpc";
import type { TaskError, TaskErrorCode } from "../../task/errors";
import { MISSING_REQUIRED_CLIENT_CAPABILITY } from "../error-codes";

type Wire = { readonly status: number; readonly code: number };

/**
 * What the inside calls it → what this revision says. Errors of one request travel on 200, since a 400 without a code
 * of the modern era sends dual-era clients back to `initialize` (transports §Backward Compatibility). Codes of our own
 * lie outside the range that JSON-RPC and MCP reserve.
 */
const wire = {
  not_found: { status: 200, code: INVALID_PARAMS },
  invalid: { status: 200, code: INVALID_PARAMS },
  unknown_tool: { status: 200, code: INVALID_PARAMS },
  capability_missing: { status: 400, code: MISSING_REQUIRED_CLIENT_CAPABILITY },
  task_required: { status: 400, code: MISSING_REQUIRED_CLIENT_CAPABILITY },
  settled: { status: 200, code: INVALID_PARAMS },
  conflict: { status: 200, code: 40900 },
  limit_reached: { status: 200, code: 42900 },
  rate_limited: { status: 429, code: 42901 },
  too_large: { status: 413, code: 41300 },
  overloaded: { status: 503, code: INTERNAL_ERROR },
  misconfigured: { status: 500, code: INTERNAL_ERROR },
  internal: { status: 500, code: INTERNAL_ERROR },
} satisfies Readonly<Record<TaskErrorCode, Wire>>;

export function toJsonRpcError({ code, message, data }: TaskError): JsonRpcError {
  const { status, code: number } = wire[code];
  const { retryAfterMs } = data;
  const waits = (status === 429 || status === 503) && retryAfterMs !== undefined;
  return new JsonRpcError(status, number, message, {
    data: toData(number, data),
    ...(waits ? { headers: { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) } } : {}),
  });
}

/** -32021 must say what is required, as a `ClientCapabilities` object (schema, MissingRequiredClientCapabilityError). */
function toData(code: number, data: TaskError["data"]): unknown {
  if (code === MISSING_REQUIRED_CLIENT_CAPABILITY) return { requiredCapabilities: data.requiredCapabilities ?? {} };
  return Object.keys(data).length === 0 ? undefined : data;
}
