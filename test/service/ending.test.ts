import { describe, expect, it } from "vitest";
import { endingOfThrown } from "../../src/service/ending";
import { TaskError } from "../../src/task/errors";
import { defineTool, ProtocolError, RefusalError, ToolError } from "../../src/tool/define-tool";
import { registerTool } from "../../src/tool/registry";

const tool = registerTool(
  defineTool({ name: "tool", description: "tool", input: { type: "object" }, task: "optional", run: () => "done" }),
);

describe("what a tool threw", () => {
  it("as a refusal is what it says, and final", () => {
    expect(endingOfThrown(tool, new RefusalError("Not on a Sunday."))).toEqual({
      outcome: { kind: "rejected", reason: "Not on a Sunday." },
      statusMessage: "Not on a Sunday.",
      retry: false,
    });
  });

  it("as an error for the model is a result, and is tried again only where it says so", () => {
    expect(endingOfThrown(tool, new ToolError("Sold out."))).toMatchObject({
      outcome: { kind: "result", isError: true },
      statusMessage: "Sold out.",
      retry: false,
    });
    expect(endingOfThrown(tool, new ToolError("Sold out.", { retry: true }))).toMatchObject({ retry: true });
  });

  it("as an error of the wire keeps its code", () => {
    const error = { code: 7, message: "No." };
    expect(endingOfThrown(tool, new ProtocolError(7, "No."))).toMatchObject({ outcome: { kind: "error", error } });
    expect(endingOfThrown(tool, new TaskError("invalid", "No."))).toMatchObject({
      outcome: { kind: "error", error: { code: -32602, message: "No." } },
    });
  });

  it("otherwise is told nobody but the operator", () => {
    const fault = new Error("secret");
    const ending = endingOfThrown(tool, fault);
    expect(ending).toMatchObject({ retry: true, statusMessage: 'The tool "tool" failed.' });
    expect(ending.fault).toBe(fault);
    expect(JSON.stringify(ending.outcome)).not.toContain("secret");
  });

  it.each([
    ["a refusal", (text: string) => new RefusalError(text)],
    ["an error for the model", (text: string) => new ToolError(text)],
    ["an error of the wire", (text: string) => new ProtocolError(7, text)],
  ])("is no place for a result: %s is cut", (_, make) => {
    const { outcome } = endingOfThrown(tool, make("x".repeat(200_000)));
    expect(JSON.stringify(outcome).length).toBeLessThan(101_000);
  });
});
