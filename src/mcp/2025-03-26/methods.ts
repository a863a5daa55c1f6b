import { commonMethods } from "../legacy/methods";
import type { LegacyRevision } from "../legacy/revision";
import { toCallToolResult, toTool } from "./view";

/** The first revision over Streamable HTTP, and the only one with batches. Nobody can be asked to fill in a form. */
export const mcp20250326: LegacyRevision = {
  version: "2025-03-26",
  methods: () => commonMethods,
  capabilities: () => ({}),
  clientCapabilities: { sampling: [], roots: [] },
  batches: true,
  needsHelpers: () => true,
  toTool,
  toCallToolResult,
  toInputParams: ({ params }) => params,
};
