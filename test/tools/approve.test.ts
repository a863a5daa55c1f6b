import { describe, expect, it } from "vitest";
import { createRegistry } from "../../src/tool/registry";
import { approve } from "../../src/tools/approve";
import type { JsonObject } from "../../src/task/json";
import { FakeSuspension, fakeTask } from "../support/fake-task-context";

async function decide(answer: JsonObject): Promise<unknown> {
  const task = fakeTask();
  task.answers.set("approval", answer);
  return await approve.run({ action: "Delete 40 files" }, task.context());
}

describe("request_approval", () => {
  it("asks one form question with the action and the details, and waits", async () => {
    const task = fakeTask();
    const run = approve.run(
      { action: "Delete 40 files", details: "They are older than a year.", timeoutMs: 5000 },
      task.context(),
    );
    await expect(run).rejects.toBeInstanceOf(FakeSuspension);
    expect([...task.open]).toEqual([
      [
        "approval",
        {
          ask: {
            kind: "form",
            message: "Delete 40 files\n\nThey are older than a year.",
            schema: expect.objectContaining({ type: "object", required: ["decision"] }),
          },
          timeoutMs: 5000,
        },
      ],
    ]);
    expect(task.steps.size).toBe(0);
  });

  it.each([
    [
      "approved, with a reason",
      { action: "accept", content: { decision: "approve", reason: " go ahead " } },
      { decision: "approved", reason: "go ahead" },
    ],
    [
      "approved, without a reason",
      { action: "accept", content: { decision: "approve", reason: "" } },
      { decision: "approved" },
    ],
    [
      "declined in the form",
      { action: "accept", content: { decision: "decline", reason: "too risky" } },
      { decision: "declined", reason: "too risky" },
    ],
    ["declined as a form", { action: "decline" }, { decision: "declined" }],
    ["unanswered when it was dismissed or timed out", { action: "cancel" }, { decision: "unanswered" }],
    ["unanswered when the form came back without a decision", { action: "accept" }, { decision: "unanswered" }],
    [
      "unanswered when the decision makes no sense",
      { action: "accept", content: { decision: true } },
      { decision: "unanswered" },
    ],
  ])("is %s", async (_, answer, wanted) => {
    expect(await decide(answer)).toEqual({ ...wanted, decidedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) });
  });

  it("tells the same moment again when the run is repeated", async () => {
    const task = fakeTask();
    task.answers.set("approval", { action: "decline" });
    task.steps.set("decided-at", '"2029-01-02T03:04:05.000Z"');
    expect(await approve.run({ action: "x" }, task.context())).toMatchObject({ decidedAt: "2029-01-02T03:04:05.000Z" });
  });

  it("returns what its output schema promises", async () => {
    const tool = createRegistry([approve]).get("request_approval");
    const result = tool?.toResult(await decide({ action: "accept", content: { decision: "approve" } }));
    expect(result).toMatchObject({ ok: true, value: { structuredContent: { decision: "approved" } } });
  });

  it.each(["", "  "])("wants to be told what to ask, and not %j", (action) => {
    const tool = createRegistry([approve]).get("request_approval");
    const message = "arguments: `action` must not be blank.";
    expect(tool?.parseArguments({ action })).toEqual({ ok: false, message });
  });
});
