import { Hono } from "hono";
import { mcpRoutes } from "./mcp/routes";
import type { McpDeps } from "./mcp/wing";

export type AppDeps = McpDeps;

/** The door: one mount per protocol. */
export function createApp(deps: AppDeps): Hono {
  const app = new Hono();
  app.get("/", (c) => c.text("Holdfast: durable tasks for slow tools. MCP clients talk to /mcp.\n"));
  // Both spellings are served: clients drop the body or the token when they are redirected.
  app.route("/mcp", mcpRoutes(deps));
  app.route("/mcp/", mcpRoutes(deps));
  app.notFound((c) => c.text("Nothing is served here.\n", 404));
  app.onError((thrown, c) => {
    deps.log?.({ level: "error", message: "A request failed.", error: thrown.stack ?? thrown.message });
    return c.text("The server could not answer; its log says why.\n", 500);
  });
  return app;
}
