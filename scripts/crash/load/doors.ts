import type { Server } from "../server.ts";
import { A2a } from "./a2a.ts";
import { Cron } from "./cron.ts";
import { DeclaredTools } from "./declared-tools.ts";
import type { Door } from "./door.ts";
import { Mcp2025 } from "./mcp-2025.ts";
import { Mcp2026 } from "./mcp-2026.ts";
import { McpLegacy } from "./mcp-legacy.ts";
import { OwnDocuments } from "./own-documents.ts";
import { StoreRecords } from "./store-records.ts";
import { Workers } from "./workers.ts";

/** Every door there is. A new one is a file beside these, and a line here. */
export const doorsOf = (server: Server): readonly Door[] => [
  new Mcp2026(server),
  new Mcp2025(server),
  new McpLegacy(server),
  new A2a(server),
  new StoreRecords(server),
  new OwnDocuments(server),
  new DeclaredTools(server),
  new Workers(server),
  new Cron(server),
];
