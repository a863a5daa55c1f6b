import { Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { authenticate } from "../auth";
import type { Config } from "../env";
import { parseJson } from "../json";
import {
  errorResponse,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  JsonRpcError,
  PARSE_ERROR,
  respond,
  type Accepts,
} from "../json-rpc";
import { acceptsOf, isJson } from "../media-types";
import { originAllowed } from "../origin";
import type { Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import { mcp20260728 } from "./2026-07-28/methods";
import { readBody } from "./body";
import { decideEra, type Revision } from "./era";
import type { McpDeps, Wing } from "./wing";

const wings: Readonly<Record<Revision, Wing>> = { "2026-07-28": mcp20260728 };

type Posted = { readonly value: unknown; readonly unsafeNumbers: boolean };

type McpEnv = { Variables: { principal: Principal; accepts: Accepts; posted: Posted } };

/** The MCP endpoint: what stands before every revision, in the order in which a request is judged. */
export function mcpRoutes(deps: McpDeps): Hono<McpEnv> {
  const { config } = deps;
  const routes = new Hono<McpEnv>();
  routes.all("/", onlyPost, knownOrigin(config), knownCaller(config), mediaTypes, jsonBody(config), (c) => {
    const { principal, accepts, posted } = c.var;
    const decision = decideEra(posted.value, c.req.header("mcp-protocol-version") ?? null);
    switch (decision.kind) {
      case "accepted":
        return c.body(null, 202);
      case "rejected":
        return errorResponse(decision.error, decision.id);
      case "request": {
        const { request, revision } = decision;
        const inbound = { request, headers: c.req.raw.headers, principal, unsafeNumbers: posted.unsafeNumbers };
        const explain = (thrown: unknown) => explainThrown(thrown, wings[revision], deps.log);
        return respond(c, request.id, () => wings[revision].serve(inbound, deps), { accepts, explain });
      }
    }
  });
  routes.onError((thrown) => errorResponse(explainThrown(thrown, wings["2026-07-28"], deps.log)));
  return routes;
}

/** The text of an exception goes to the log and nowhere else. */
function explainThrown(thrown: unknown, wing: Wing, log: McpDeps["log"]): JsonRpcError {
  if (thrown instanceof JsonRpcError) return thrown;
  const known = thrown instanceof TaskError ? wing.toJsonRpcError(thrown) : null;
  if (known && known.status < 500) return known;
  const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  log?.({ level: "error", message: "A request failed.", error });
  return known ?? new JsonRpcError(500, INTERNAL_ERROR, "The server could not answer; its log says why.");
}

// GET would open a stream of a session, DELETE end one; there are no sessions here (2026-07-28 transports).
const onlyPost = createMiddleware<McpEnv>(async (c, next) => {
  if (c.req.method === "POST") return next();
  throw new JsonRpcError(405, INVALID_REQUEST, "This endpoint takes POST only.", { headers: { Allow: "POST" } });
});

const knownOrigin = (config: Config) =>
  createMiddleware<McpEnv>(async (c, next) => {
    if (originAllowed(c.req.raw, config)) return next();
    throw new JsonRpcError(
      403,
      INVALID_REQUEST,
      "Pages of this origin may not call this server; ALLOWED_ORIGINS lists those that may.",
    );
  });

const knownCaller = (config: Config) =>
  createMiddleware<McpEnv>(async (c, next) => {
    const caller = await authenticate(c.req.raw, config);
    if (caller.kind === "refused") {
      throw new JsonRpcError(caller.status, INVALID_REQUEST, caller.message, {
        headers: { "WWW-Authenticate": caller.challenge },
      });
    }
    c.set("principal", caller.principal);
    return next();
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
