import type { Context } from "hono";
import { isObject } from "../task/json";
import { methodOf, versionOf } from "./dialect";
import { A2aError, explainThrown, rpcErrorText, type RpcId } from "./errors";
import type { Posted } from "./posted";
import { readParams } from "./schemas";
import { errorResponse, serve, type Binding, type Door } from "./serve";

/** A2A 1.0 §9: errors of a request travel on 200. */
export const rpcBinding = (id: RpcId): Binding => ({
  contentType: "application/json",
  result: (result) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result ?? null)}}`,
  error: (explained) => rpcErrorText(explained, id),
  errorStatus: 200,
});

/** The JSON-RPC binding. Throws when the body is no single message, so that there is nothing to answer on 200. */
export async function serveRpc(c: Context, door: Door, { value, unsafeNumbers }: Posted): Promise<Response> {
  if (!isObject(value)) {
    const batch = Array.isArray(value) ? "; batches are not served" : "";
    throw new A2aError("invalid_request", `The body must be one JSON-RPC request, an object${batch}.`);
  }
  const { id, jsonrpc, method, params = {} } = value;
  const hasId = id === null || typeof id === "string" || Number.isSafeInteger(id);
  const binding = rpcBinding(hasId ? (id as RpcId) : null);
  const { log, config } = door.deps;
  try {
    if (jsonrpc !== "2.0") throw new A2aError("invalid_request", '"jsonrpc" must be "2.0".');
    if (typeof method !== "string" || method === "") {
      throw new A2aError("invalid_request", '"method" must be the name of a method.');
    }
    // A notification is not answered, whatever becomes of it (JSON-RPC 2.0 §4.1). A2A has none: each of its methods is
    // called for its answer, and nobody could use a task whose id he never learns. So nothing is done either.
    if (id === undefined) return new Response(null, { status: 202 });
    if (!hasId) throw new A2aError("invalid_request", '"id" must be a string, an integer or null.');
    const meant = methodOf(method, isObject(params) ? params : {}, versionOf(c.req.raw), config.a2a.legacy);
    return await serve(c, door, { method: meant, params: readParams(meant, params, unsafeNumbers) }, binding);
  } catch (thrown) {
    // Nobody is there to be told.
    if (c.req.raw.signal.aborted) throw thrown;
    return errorResponse(explainThrown(thrown, log, door.principal), binding);
  }
}
