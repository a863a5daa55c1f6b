import { INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError, METHOD_NOT_FOUND } from "../../json-rpc";
import type { TaskError, TaskErrorCode } from "../../task/errors";

type Wire = { readonly status: number; readonly code: number };

/**
 * What the inside calls it → what the older revisions say. A status of its own has only what a client or a proxy must
 * see without reading: 404 would end the session, 400 has clients try an older transport.
 */
const wire = {
  not_found: { status: 200, code: INVALID_PARAMS },
  invalid: { status: 200, code: INVALID_PARAMS },
  unknown_tool: { status: 200, code: INVALID_PARAMS },
  // The tool cannot be had in this way (2025-11-25 tasks §Tool-Level Negotiation has the code for tasks).
  capability_missing: { status: 200, code: METHOD_NOT_FOUND },
  task_required: { status: 200, code: METHOD_NOT_FOUND },
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
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(waits ? { headers: { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) } } : {}),
  });
}
