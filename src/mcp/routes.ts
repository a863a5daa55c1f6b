import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { Hono } from "hono/tiny";
import type { Authenticate } from "../auth";
import { readBody } from "../body";
import type { Clock } from "../clock";
import type { Config } from "../env";
import { parseJson } from "../json";
import { INVALID_REQUEST, JsonRpcError, PARSE_ERROR, type Accepts } from "../json-rpc";
import { acceptsOf, isJson } from "../media-types";
import { errorResponse, respond } from "../respond";
import type { Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import { untilExpiry } from "../until-expiry";
import { mcp20260728 } from "./2026-07-28/methods";
import { decideEra, decideStream, type Revision } from "./era";
import { explainThrown } from "./explain";
import { answerBatch, answerLegacy, openLegacyStream } from "./legacy/routes";
import type { McpDeps, Wing } from "./wing";

const wings: Readonly<Record<Revision<"modern">, Wing>> = { "2026-07-28": mcp20260728 };

type Posted = { readonly value: unknown; readonly unsafeNumbers: boolean };

type McpEnv = { Variables: { principal: Principal; accepts: Accepts; posted: Posted } };

/** The MCP endpoint: what stands before every revision, in the order in which a request is judged. */
export function mcpRoutes(deps: McpDeps, authenticate: Authenticate): Hono<McpEnv> {
  const { config } = deps;
  const routes = new Hono<McpEnv>();
  const known = knownCaller(authenticate, deps.clock);
  routes.post("/", known, mediaTypes, jsonBody(config), async (c): Promise<Response> => {
    const decision = decideEra(c.var.posted.value, versionOf(c));
    switch (decision.kind) {
      case "accepted":
        return c.body(null, 202);
      case "rejected":
        return errorResponse(decision.error, decision.id);
      case "modern": {
        const { request, revision } = decision;
        const wing = wings[revision];
        const { headers, principal, unsafeNumbers, accepts } = inboundOf(c);
        const explain = (thrown: unknown) => explainThrown(thrown, wing.toJsonRpcError, deps.log, principal);
        const serve = () => wing.serve({ request, headers, principal, unsafeNumbers }, deps);
        return respond(c, request.id, serve, { accepts, explain });
      }
      case "legacy":
        return answerLegacy(c, decision.message, { ...inboundOf(c), version: decision.version }, deps);
      case "legacy_batch":
        return answerBatch(c, decision.messages, { ...inboundOf(c), version: null }, deps);
    }
  });
  routes.get("/", notHead, known, async (c) => {
    const decision = decideStream(versionOf(c));
    if (decision.kind === "rejected") return errorResponse(decision.error);
    const { headers } = c.req.raw;
    const accepts = acceptsOf(headers.get("accept"));
    const inbound = { headers, principal: c.var.principal, accepts, unsafeNumbers: false, version: null };
    return openLegacyStream(c, inbound, deps);
  });
  routes.all("/", () => {
    throw notAllowed();
  });
  routes.onError((thrown) => errorResponse(explainThrown(thrown, wings["2026-07-28"].toJsonRpcError, deps.log)));
  return routes;
}

type McpContext = Context<McpEnv>;

const versionOf = (c: McpContext): string | null => c.req.header("mcp-protocol-version") ?? null;

const inboundOf = (c: McpContext) => ({
  headers: c.req.raw.headers,
  principal: c.var.principal,
  accepts: c.var.accepts,
  unsafeNumbers: c.var.posted.unsafeNumbers,
});

// Sessions end by themselves, so there is no DELETE (2025-11-25 transports §Session Management).
const notAllowed = (): JsonRpcError =>
  new JsonRpcError(405, INVALID_REQUEST, "This endpoint takes POST and GET.", { headers: { Allow: "GET, POST" } });

// HEAD would come in as a GET whose stream nobody reads.
const notHead = createMiddleware<McpEnv>(async (c, next) => {
  if (c.req.method === "GET") return next();
  throw notAllowed();
});

const knownCaller = (authenticate: Authenticate, clock: Clock) =>
  createMiddleware<McpEnv>(async (c, next) => {
    const caller = await authenticate(c.req.raw, { path: "/mcp", scopes: ["client"] });
    if (caller.kind === "refused") {
      throw new JsonRpcError(caller.status, INVALID_REQUEST, caller.message, {
        headers: { "WWW-Authenticate": caller.challenge },
      });
    }
    c.set("principal", caller.principal);
    await next();
    const limited = untilExpiry(c.res, caller.principal, clock);
    if (limited !== c.res) c.res = limited;
  });

// A type other than JSON is also what a foreign page could send without asking first.
const mediaTypes = createMiddleware<McpEnv>(async (c, next) => {
  if (!isJson(c.req.header("content-type") ?? null))
    throw new JsonRpcError(415, INVALID_REQUEST, "Content-Type must be application/json.");
  const accepts = acceptsOf(c.req.header("accept") ?? null);
  if (!accepts.json && !accepts.eventStream) {
    throw new JsonRpcError(406, INVALID_REQUEST, "Accept must allow application/json and text/event-stream.");
  }
  c.set("accepts", accepts);
  return next();
});

const jsonBody = (config: Config) =>
  createMiddleware<McpEnv>(async (c, next) => {
    const bytes = await readBody(c.req.raw, config.maxBodyBytes);
    if (bytes === null)
      throw new TaskError("too_large", `The body is longer than MAX_BODY_BYTES (${config.maxBodyBytes} bytes).`);
    const parsed = parseJson(bytes, { maxDepth: config.maxJsonDepth });
    if (!parsed.ok) throw new JsonRpcError(400, PARSE_ERROR, parsed.reason);
    c.set("posted", parsed);
    return next();
  });
