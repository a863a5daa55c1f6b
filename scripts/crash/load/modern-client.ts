import type { OwnerName, Server } from "../server.ts";
import { exchange, REQUEST_ID, type Exchange, type Fields, type Reply } from "../wire.ts";

export const MODERN = "2026-07-28";

const META = "io.modelcontextprotocol";
const WITH_TASKS = { elicitation: {}, extensions: { [`${META}/tasks`]: {} } };

type More = Pick<Exchange, "onMessage" | "waits"> & {
  /** What the client declares; all of it, if left out. */
  readonly capabilities?: object;
  /** Its idempotency key. */
  readonly key?: string | undefined;
};

/** A request as MCP 2026-07-28 has them: each stands for itself. */
export function requestModern(
  server: Server,
  owner: OwnerName,
  method: string,
  params: Fields,
  { capabilities = WITH_TASKS, key, ...more }: More = {},
): Promise<Reply> {
  const name = method === "tools/call" ? params["name"] : method.startsWith("tasks/") ? params["taskId"] : undefined;
  const _meta = { [`${META}/protocolVersion`]: MODERN, [`${META}/clientCapabilities`]: capabilities };
  const headers = {
    Authorization: `Bearer ${owner}`,
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": method,
    ...(typeof name === "string" ? { "Mcp-Name": name } : {}),
    ...(key === undefined ? {} : { "Idempotency-Key": key }),
  };
  return exchange(server, {
    headers,
    body: { jsonrpc: "2.0", id: REQUEST_ID, method, params: { ...params, _meta } },
    ...more,
  });
}
