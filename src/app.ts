import { Hono } from "hono/tiny";
import { AGENT_CARD_PATH, a2aDoors } from "./a2a/door";
import { authenticator } from "./auth";
import { cors } from "./cors";
import { floodGuard } from "./flood-guard";
import { mcpRoutes } from "./mcp/routes";
import type { McpDeps } from "./mcp/wing";
import { METADATA_PATH } from "./oauth";
import { protectedResource } from "./protected-resource";
import type { StoreDeps } from "./store-api/deps";
import { storeRoutes } from "./store-api/routes";

/** `env` holds the bindings, for the door that may have a guard. */
export type AppDeps = McpDeps & {
  readonly env?: object;
  readonly records: StoreDeps["store"];
  readonly work: StoreDeps["work"];
  readonly remoteTools: StoreDeps["remoteTools"];
};

/** The door: one mount per protocol. */
export function createApp(deps: AppDeps): Hono {
  const app = new Hono();
  const authenticate = authenticator(deps.config, deps);
  const a2a = a2aDoors(deps, authenticate);
  app.route(METADATA_PATH, protectedResource(deps.config.oauth, ["/mcp", "/store/v1", "/a2a"]));
  app.use(AGENT_CARD_PATH, floodGuard(deps.env ?? {}));
  app.route(AGENT_CARD_PATH, a2a.card);
  // What stands above is for pages of any origin; what follows is not.
  app.use(cors(deps.config));
  app.use(floodGuard(deps.env ?? {}));
  app.get("/", (c) =>
    c.text(
      "Holdfast: durable tasks for slow tools. MCP clients talk to /mcp, A2A clients to /a2a, servers and workers to /store/v1.\n",
    ),
  );
  // The router takes `/mcp/` for it too; clients that are redirected drop the body or the token.
  app.route("/mcp", mcpRoutes(deps, authenticate));
  app.route("/a2a", a2a.endpoint);
  app.route("/store/v1", storeRoutes({ ...deps, store: deps.records, catalog: deps.tools }, authenticate));
  app.notFound((c) => c.text("Nothing is served here.\n", 404));
  app.onError((thrown, c) => {
    deps.log?.({ level: "error", message: "A request failed.", error: thrown.stack ?? thrown.message });
    return c.text("The server could not answer; its log says why.\n", 500);
  });
  return app;
}
