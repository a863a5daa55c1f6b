import { publicRoutes } from "./cors";
import type { OAuthSettings } from "./env";
import { tokenScope } from "./oauth";

/**
 * Where clients of each door (`/mcp`) get their tokens (RFC 9728): at the door's own address, and the first one's at the
 * root too.
 */
export function protectedResource(oauth: OAuthSettings | null, doors: readonly string[]) {
  const routes = publicRoutes();
  for (const path of ["/", ...doors]) {
    routes.get(path, (c) => {
      if (oauth === null) return c.notFound();
      const door = path === "/" ? doors[0] : path;
      return c.json({
        // The canonical URI of the server (MCP 2026-07-28 authorization §Canonical Server URI).
        resource: `${new URL(c.req.url).origin}${door}`,
        authorization_servers: [oauth.issuer],
        scopes_supported: [tokenScope("client")],
        bearer_methods_supported: ["header"],
      });
    });
  }
  return routes;
}
