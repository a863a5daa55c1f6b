import type { Method } from "../../json-rpc";
import type { Call } from "../legacy/call";
import { hold } from "../legacy/held-call";
import { commonMethods } from "../legacy/methods";
import { withObjectContent } from "../legacy/object-output";
import type { LegacyRevision } from "../legacy/revision";
import { callTool } from "./call-tool";
import { cancelTask, getTask, listTasks } from "./task-methods";
import { awaitResult, taskResult } from "./task-result";
import { toInputParams, toTask, toTool } from "./view";

const methods: Readonly<Record<string, Method<Call>>> = {
  ...commonMethods,
  "tools/call": callTool,
  "tasks/get": getTask,
  "tasks/result": taskResult,
  "tasks/cancel": cancelTask,
};

/** Callers that cannot be told apart have no list (tasks §Task Isolation and Access Control). */
const withList = { ...methods, "tasks/list": listTasks };

/** The one revision with tasks in its core. */
export const mcp20251125: LegacyRevision = {
  version: "2025-11-25",
  methods: (principal) => (principal.kind === "anonymous" ? methods : withList),
  capabilities: (principal) => ({
    tasks: {
      ...(principal.kind === "anonymous" ? {} : { list: {} }),
      cancel: {},
      requests: { tools: { call: {} } },
    },
  }),
  clientCapabilities: { elicitation: ["form", "url"], sampling: ["context", "tools"], roots: [], tasks: [] },
  batches: false,
  resume: (caller, resumable) =>
    resumable.of === "result"
      ? awaitResult(caller, resumable)
      : { stream: "when_slow", waits: true, run: (exchange) => hold(caller, exchange, resumable) },
  needsHelpers: (capabilities) => !("tasks" in capabilities),
  toTool,
  toCallToolResult: withObjectContent,
  toInputParams,
  toTaskStatus: toTask,
};
