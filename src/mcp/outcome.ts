import { INTERNAL_ERROR, INVALID_PARAMS } from "../json-rpc";
import { notFound } from "../task/errors";
import type { Outcome, RpcError } from "../task/task";

/** The JSON-RPC error that a settled task ended in; null when it ended otherwise. */
export function errorOf(outcome: Outcome): RpcError | null {
  switch (outcome.kind) {
    case "error":
      return outcome.error;
    case "rejected":
      return { code: INTERNAL_ERROR, message: outcome.reason };
    case "expired":
      return { code: INVALID_PARAMS, message: notFound().message };
    case "result":
    case "cancelled":
      return null;
  }
}
