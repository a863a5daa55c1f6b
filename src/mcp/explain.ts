import { INTERNAL_ERROR, JsonRpcError } from "../json-rpc";
import { FAULT, logThrown } from "../service/thrown";
import { TaskError } from "../task/errors";
import type { Inbound } from "./wing";

/** Whatever was thrown, as the wire says it, and a line of it in the log. */
export const explainer =
  (
    toJsonRpcError: (error: TaskError) => JsonRpcError,
    { deps, principal }: Pick<Inbound, "deps"> & Partial<Pick<Inbound, "principal">>,
  ) =>
  (thrown: unknown): JsonRpcError => {
    const known = thrown instanceof TaskError ? toJsonRpcError(thrown) : thrown;
    const error = known instanceof JsonRpcError ? known : new JsonRpcError(500, INTERNAL_ERROR, FAULT);
    // One of the wire's own with such a status is no fault of ours.
    if (error === thrown && error.status >= 500) return error;
    const code = thrown instanceof TaskError ? thrown.code : String(error.code);
    logThrown(thrown, { status: error.status, code }, deps.log, principal);
    return error;
  };
