import { withObjectContent } from "../legacy/content";
import { commonMethods } from "../legacy/methods";
import type { LegacyRevision } from "../legacy/revision";
import { toInputParams, toTool } from "./view";

/** No tasks: `params.task` means nothing here. */
export const mcp20250618: LegacyRevision = {
  version: "2025-06-18",
  methods: () => commonMethods,
  capabilities: () => ({}),
  clientCapabilities: { elicitation: [], sampling: [], roots: [] },
  batches: false,
  needsHelpers: () => true,
  toTool,
  toCallToolResult: withObjectContent,
  toInputParams,
};
