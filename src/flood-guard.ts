import { createMiddleware } from "hono/factory";
import { JsonRpcError } from "./json-rpc";
import { errorResponse } from "./respond";

/** Cloudflare's rate limiting binding. It counts per location and roughly: against floods, not for exact limits. */
type RateLimit = { limit(options: { readonly key: string }): Promise<{ readonly success: boolean }> };

/** The binding counts over 10 or 60 seconds; a client that waits this long has the next window. */
const RETRY_AFTER_S = 60;

/** Turns away an address that floods the door, where wrangler.toml binds a `FLOOD_GUARD`; else it lets everybody pass. */
export const floodGuard = (env: object) =>
  createMiddleware(async (c, next) => {
    const guard = (env as { readonly FLOOD_GUARD?: RateLimit }).FLOOD_GUARD;
    const passed = !guard || (await guard.limit({ key: c.req.header("cf-connecting-ip") ?? "" })).success;
    if (passed) return next();
    const message = `Too many requests came from this address; try again in ${RETRY_AFTER_S} seconds.`;
    const data = { limit: "FLOOD_GUARD", retryAfterMs: RETRY_AFTER_S * 1000 };
    return errorResponse(
      new JsonRpcError(429, 42901, message, { data, headers: { "Retry-After": String(RETRY_AFTER_S) } }),
    );
  });
