import type { Call } from "./call";

/** What is served changes only with a deploy; that a copy may be out of date this long is harmless. */
const CACHE_TTL_MS = 300_000;

/** `public` may be shown across access tokens, so what a credential opened stays with it (caching §Security). */
export const cacheHints = ({ principal }: Call) => ({
  ttlMs: CACHE_TTL_MS,
  cacheScope: principal.kind === "anonymous" ? "public" : "private",
});
