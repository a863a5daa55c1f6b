import { createMiddleware } from "hono/factory";
import { Hono } from "hono/tiny";
import { INVALID_REQUEST } from "./json-rpc";
import { originAllowed } from "./origin";

/**
 * Lets pages of allowed origins call and read the answers, errors too; those of others are refused before anything else
 * happens, whatever the method (MCP 2026-07-28 transports §Security & Endpoint).
 */
export const cors = (config: { readonly allowedOrigins: readonly string[] }) =>
  createMiddleware(async (c, next) => {
    const { raw } = c.req;
    const origin = raw.headers.get("origin");
    if (!originAllowed(raw, config)) return refusal();
    if (origin !== null && raw.method === "OPTIONS") return preflight(origin, raw.headers);
    await next();
    c.res.headers.append("Vary", "Origin");
    if (origin === null) return;
    c.res.headers.set("Access-Control-Allow-Origin", origin);
    c.res.headers.set("Access-Control-Expose-Headers", EXPOSED);
  });

/** For routes that pages of any origin may read: they say nothing that is not public. */
export function publicRoutes(): Hono {
  const routes = new Hono();
  routes.use(async (c, next) => {
    await next();
    c.res.headers.set("Access-Control-Allow-Origin", "*");
  });
  // Clients send a header with their protocol's version along.
  routes.options("*", (c) =>
    c.body(null, 204, { "Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": "*" }),
  );
  return routes;
}

/** Without `WWW-Authenticate` a page could not find out where to get a token. */
const EXPOSED = "WWW-Authenticate, Mcp-Session-Id, Retry-After, ETag, A2A-Extensions, X-A2A-Extensions";

const KNOWN_HEADERS = [
  "authorization",
  "content-type",
  "accept",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "last-event-id",
  "a2a-version",
  "a2a-extensions",
  "x-a2a-extensions",
  "idempotency-key",
  "if-match",
  "if-none-match",
];

/** RFC 9110 §5.6.2, in lower case. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** `*` would not cover `Authorization`, and no pattern `Mcp-Param-*`: so what was asked for is allowed by name. */
function preflight(origin: string, headers: Headers): Response {
  const asked = (headers.get("access-control-request-headers") ?? "").toLowerCase().split(",");
  const names = [...asked.map((name) => name.trim()).filter((name) => TOKEN.test(name)), ...KNOWN_HEADERS];
  return new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Origin": origin,
      "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
      "Access-Control-Allow-Headers": [...new Set(names)].join(", "),
      // Browsers keep it no longer than this: two hours in most of them.
      "Access-Control-Max-Age": "7200",
      Vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    },
  });
}

/** Without a challenge, which would have a client ask for more scopes; without an id, since no body was read. */
function refusal(): Response {
  const message = "Pages of this origin may not call this server; ALLOWED_ORIGINS lists those that may.";
  const body = { jsonrpc: "2.0", error: { code: INVALID_REQUEST, message } };
  return Response.json(body, { status: 403, headers: { "Cache-Control": "no-store", Vary: "Origin" } });
}
