import type { TaskDraft } from "../../src/task/task";

/** A draft with every fact set, for tests that care about a few of them. */
export const draft = (over: Partial<TaskDraft> = {}): TaskDraft => ({
  id: "a".repeat(43),
  namespace: "tasks",
  owner: null,
  origin: "test",
  tool: "tool",
  toolVersion: null,
  runs: { in: "object" },
  arguments: "{}",
  prepared: null,
  client: { revision: "test", capabilities: { elicitation: {}, sampling: {}, roots: {} }, principal: null },
  contextId: null,
  extras: null,
  createdAt: 1_000,
  ttlMs: 100_000,
  pollIntervalMs: 1_000,
  ...over,
});
