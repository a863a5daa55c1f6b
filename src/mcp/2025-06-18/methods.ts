import { commonMethods } from "../legacy/methods";
import { toTool, withObjectContent } from "../legacy/object-output";
import type { LegacyRevision } from "../legacy/revision";

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
  /** A form is the one mode of elicitation, so it is not named (schema, ElicitRequest). */
  toInputParams({ params: { mode: _, ...params } }) {
    return params;
  },
};
