import type { Context } from "hono";
import type { Authenticate } from "../auth";
import { readBody } from "../body";
import { isJson } from "../media-types";
import type { Principal } from "../service/principal";
import { untilExpiry } from "../until-expiry";
import type { A2aDeps } from "./deps";
import { A2aError, explainThrown } from "./errors";
import { parsed } from "./posted";
import { restBinding, serveRest } from "./rest";
import { rpcBinding, serveRpc } from "./rpc";
import { errorResponse, type Door } from "./serve";

/**
 * What stands before both bindings under `/a2a`, in the order in which a request is judged. JSON-RPC is at the address
 * itself, with or without a slash: clients that are redirected drop the body or the token.
 */
export function a2aRoutes(deps: A2aDeps, authenticate: Authenticate, handlerFor: Door["handlerFor"]) {
  const { config, clock, log } = deps;

  async function knownCaller(request: Request): Promise<Principal> {
    const caller = await authenticate(request, { path: "/a2a", scopes: ["client"] });
    if (caller.kind === "principal") return caller.principal;
    throw new A2aError(caller.status === 401 ? "unauthenticated" : "insufficient_scope", caller.message, {
      headers: { "WWW-Authenticate": caller.challenge },
    });
  }

  return async (c: Context): Promise<Response> => {
    const { raw } = c.req;
    const path = new URL(raw.url).pathname.slice("/a2a".length);
    const isRpc = path === "" || path === "/";
    let principal: Principal | undefined;
    try {
      if (isRpc && raw.method !== "POST") {
        throw new A2aError("method_not_allowed", "This endpoint takes POST.", { headers: { Allow: "POST" } });
      }
      principal = await knownCaller(raw);
      const door = { deps, handlerFor, principal };
      if (!isRpc) return untilExpiry(await serveRest(c, door, path), principal, clock);
      // A type other than JSON is also what a foreign page could send without asking first.
      if (!isJson(raw.headers.get("content-type"))) {
        throw new A2aError("media_type", "Content-Type must be application/json.");
      }
      const posted = parsed(await readBody(raw, config), config);
      return untilExpiry(await serveRpc(c, door, posted), principal, clock);
    } catch (thrown) {
      if (raw.signal.aborted) return new Response(null, { status: 499 });
      const explained = explainThrown(thrown, log, principal);
      const { status } = explained;
      // What is wrong with a message travels on 200, as all errors of JSON-RPC do; what is wrong with the request does not.
      if (isRpc) return errorResponse(explained, rpcBinding(null), status === 400 ? 200 : status);
      return errorResponse(explained, restBinding(raw.headers), status);
    }
  };
}
