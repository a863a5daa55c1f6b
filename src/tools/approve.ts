import { defineTool } from "../tool/define-tool";

const DAY_MS = 86_400_000;

const input = {
  type: "object",
  properties: {
    action: {
      type: "string",
      maxLength: 500,
      description: "What is to be approved, in one sentence a person can decide on.",
    },
    details: {
      type: "string",
      maxLength: 4000,
      description: "What the person should know to decide: reasons, cost, risk.",
    },
    timeoutMs: {
      type: "integer",
      minimum: 1000,
      maximum: 30 * DAY_MS,
      description: "How long to wait for the person, in ms. By default as long as the server allows.",
    },
  },
  required: ["action"],
} as const;

const output = {
  type: "object",
  properties: {
    decision: {
      type: "string",
      enum: ["approved", "declined", "unanswered"],
      description: '"unanswered": the person dismissed the question, or nobody answered in time.',
    },
    reason: { type: "string", description: "What the person gave as a reason, if anything." },
    decidedAt: { type: "string", description: "ISO 8601." },
  },
  required: ["decision", "decidedAt"],
  additionalProperties: false,
} as const;

/** The form: flat, one choice and one line of text, as MCP 2026-07-28 elicitation §Requested Schema allows. */
const form = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "decline"] },
    reason: { type: "string", title: "Reason (optional)", maxLength: 1000 },
  },
  required: ["decision"],
} as const;

const DECISIONS = new Map<unknown, "approved" | "declined">([
  ["approve", "approved"],
  ["decline", "declined"],
]);

export const approve = defineTool({
  name: "request_approval",
  title: "Ask a person for approval",
  description:
    "Asks the person at the client to approve or decline an action, and waits for the decision. Returns `approved`, " +
    "`declined` or `unanswered`. Go on with the action only after `approved`.",
  input,
  output,
  task: "optional",
  asks: ["form"],
  annotations: { readOnlyHint: true, openWorldHint: false },

  check: ({ action }) => (action.trim() === "" ? "`action` must not be blank." : undefined),

  async run({ action, details, timeoutMs }, task) {
    const message = details === undefined ? action.trim() : `${action.trim()}\n\n${details}`;
    const { approval } = await task.ask(
      { approval: { kind: "form", message, schema: form } },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    // Refusing the form says no; closing it, or leaving it until the deadline, says nothing.
    const { decision, reason } =
      approval.action === "accept" ? (approval.content ?? {}) : { decision: approval.action, reason: undefined };
    const given = typeof reason === "string" && reason.trim();
    return {
      decision: DECISIONS.get(decision) ?? ("unanswered" as const),
      ...(given && { reason: given }),
      // A step, so that a repeated run tells the same moment.
      decidedAt: await task.step("decided-at", () => new Date().toISOString()),
    };
  },
});
