import * as z from "zod/mini";
import { defineTool } from "../tool/define-tool";
import type { ElicitAnswer } from "../tool/context";

const DAY_MS = 86_400_000;

const input = z.object({
  action: z
    .string()
    .check(
      z.trim(),
      z.minLength(1),
      z.maxLength(500),
      z.describe("What is to be approved, in one sentence a person can decide on."),
    ),
  details: z
    .optional(z.string().check(z.maxLength(4000)))
    .check(z.describe("What the person should know to decide: reasons, cost, risk.")),
  timeoutMs: z
    .optional(z.int().check(z.minimum(1000), z.maximum(30 * DAY_MS)))
    .check(z.describe("How long to wait for the person, in ms. By default as long as the server allows.")),
});

const decisions = ["approved", "declined", "unanswered"] as const;

const output = z.object({
  decision: z
    .enum(decisions)
    .check(z.describe('"unanswered": the person dismissed the question, or nobody answered in time.')),
  reason: z.optional(z.string()).check(z.describe("What the person gave as a reason, if anything.")),
  decidedAt: z.string().check(z.describe("ISO 8601.")),
});

/** The form: flat, one choice and one line of text, as MCP 2026-07-28 elicitation §Requested Schema allows. */
const form = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "decline"] },
    reason: { type: "string", title: "Reason (optional)", maxLength: 1000 },
  },
  required: ["decision"],
} as const;

const filledIn = z.looseObject({ decision: z.enum(["approve", "decline"]), reason: z.optional(z.string()) });

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

  async run({ action, details, timeoutMs }, task) {
    const message = details === undefined ? action : `${action}\n\n${details}`;
    const { approval } = await task.ask(
      { approval: { kind: "form", message, schema: form } },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    // A step, so that a repeated run tells the same moment.
    const decidedAt = await task.step("decided-at", () => new Date().toISOString());
    return { ...decisionOf(approval), decidedAt };
  },
});

/** Refusing the form says no; closing it, or leaving it until the deadline, says nothing. */
function decisionOf(answer: ElicitAnswer): { decision: (typeof decisions)[number]; reason?: string } {
  switch (answer.action) {
    case "decline":
      return { decision: "declined" };
    case "cancel":
      return { decision: "unanswered" };
    case "accept": {
      const { success, data } = filledIn.safeParse(answer.content);
      if (!success) return { decision: "unanswered" };
      const reason = data.reason?.trim();
      return { decision: data.decision === "approve" ? "approved" : "declined", ...(reason && { reason }) };
    }
  }
}
