import type { Call } from "./call";

/** What the server is changes only with a deploy; that a copy may be out of date this long is harmless. */
const SERVER_TTL_MS = 300_000;

/** A tool may be declared or removed at any time; who must know at once listens for it. */
const TOOLS_TTL_MS = 60_000;

/** `public` may be shown across access tokens, so what a credential opened stays with it (caching §Security). */
export const serverHints = ({ principal }: Call) => ({
  ttlMs: SERVER_TTL_MS,
  cacheScope: principal.kind === "anonymous" ? "public" : "private",
});

/** What is listed depends on what the client declared, so no copy is for all. */
export const toolsHints = { ttlMs: TOOLS_TTL_MS, cacheScope: "private" } as const;
