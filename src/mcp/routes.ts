import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { Hono } from "hono/tiny";
import type { Authenticate } from "../auth";
import { readBody } from "../body";
import type { Clock } from "../clock";
import type { Config } from "../env";
import { parseJson } from "../json";
import { INVALID_REQUEST, JsonRpcError, PARSE_ERROR } from "../json-rpc";
import { acceptsOf, isJson } from "../media-types";
import { errorResponse, respond } from "../respond";
import type { Principal } from "../service/principal";
import { untilExpiry } from "../until-expiry";
import { mcp20260728 } from "./2026-07-28/methods";
import { decideEra, decideStream, type Modern } from "./era";
import { explainer } from "./explain";
import { answerBatch, answerLegacy, openLegacyStream } from "./legacy/routes";
import type { Inbound, McpDeps, Wing } from "./wing";

const wings: Readonly<Record<Modern, Wing>> = { "2026-07-28": mcp20260728 };

type Posted = { readonly value: unknown; readonly unsafeNumbers: boolean };

/** A GET has no body. */
type McpEnv = { Variables: { principal: Principal; posted?: Posted } };

/** The MCP endpoint: what stands before every revision, in the order in which a request is judged. */
export function mcpRoutes(deps: McpDeps, authenticate: Authenticate): Hono<McpEnv> {
  const { config } = deps;
  const routes = new Hono<McpEnv>();
  const known = knownCaller(authenticate, deps.clock);
  routes.post("/", known, mediaTypes, jsonBody(config), async (c): Promise<Response> => {
    const decision = decideEra(c.var.posted?.value, versionOf(c));
    const inbound = inboundOf(c);
    switch (decision.kind) {
      case "accepted":
        return c.body(null, 202);
      case "rejected":
        return errorResponse(decision.error, decision.id);
      case "modern": {
        const { request, capabilities } = decision;
        const { serve, toJsonRpcError } = wings[decision.revision];
        const explain = explainer(toJsonRpcError, inbound);
        const answer = async () => serve({ ...inbound, ...request, capabilities });
        return respond(c, request.id, answer, { accepts: inbound.accepts, explain });
      }
      case "legacy":
        return answerLegacy(c, decision.message, { ...inbound, version: decision.version });
      case "legacy_batch":
        return answerBatch(c, decision.messages, inbound);
    }
  });
  routes.get("/", notHead, known, async (c) => {
    const decision = decideStream(versionOf(c));
    return decision.kind === "rejected" ? errorResponse(decision.error) : openLegacyStream(c, inboundOf(c));
  });
  routes.all("/", () => {
    throw notAllowed();
  });
  // What is thrown before a revision answers, when nobody may be known yet, and of the older ones what answers no request:
  // for all that comes there, the tables of the revisions agree.
  routes.onError((thrown, c) => {
    const explain = explainer(wings["2026-07-28"].toJsonRpcError, { deps, principal: c.var.principal });
    return errorResponse(explain(thrown));
  });
  return routes;

  function inboundOf(c: McpContext): Inbound {
    const { headers } = c.req.raw;
    const { principal, posted } = c.var;
    const accepts = acceptsOf(headers.get("accept"));
    return { headers, principal, accepts, unsafeNumbers: posted?.unsafeNumbers ?? false, deps };
  }
}

type McpContext = Context<McpEnv>;

const versionOf = (c: McpContext): string | null => c.req.header("mcp-protocol-version") ?? null;

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
  if (!accepts.json && !accepts.eventStream)
    throw new JsonRpcError(406, INVALID_REQUEST, "Accept must allow application/json and text/event-stream.");
  return next();
});

const jsonBody = (config: Config) =>
  createMiddleware<McpEnv>(async (c, next) => {
    const parsed = parseJson(await readBody(c.req.raw, config), { maxDepth: config.maxJsonDepth });
    if (!parsed.ok) throw new JsonRpcError(400, PARSE_ERROR, parsed.reason);
    c.set("posted", parsed);
    return next();
  });
