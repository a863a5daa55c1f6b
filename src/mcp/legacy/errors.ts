import { METHOD_NOT_FOUND, type JsonRpcError } from "../../json-rpc";
import type { TaskError } from "../../task/errors";
import { toRevisionError } from "../errors";

export const toJsonRpcError = (error: TaskError): JsonRpcError =>
  // The tool cannot be had in this way (2025-11-25 tasks §Tool-Level Negotiation has the code for tasks).
  toRevisionError(error, { capability_missing: [200, METHOD_NOT_FOUND], task_required: [200, METHOD_NOT_FOUND] });
