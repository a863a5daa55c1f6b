import { describe, expect, it } from "vitest";
import type { AnyTool } from "../../src/tool/define-tool";
import { registerTool } from "../../src/tool/registry";
import { remoteTool } from "../../src/tool/remote-tool";
import { remote } from "../support/remote";

describe("a remote tool", () => {
  it("is a tool whose tasks wait in its queue", () => {
    const output = { type: "object", properties: { url: { type: "string" } } };
    const { tool, inputSchema, outputSchema, parseArguments } = registerTool(
      remoteTool(remote({ outputSchema: output, maxAttempts: 5, asks: ["form"] })),
    );
    expect(tool).toMatchObject({ queue: "gpu", task: "optional", maxAttempts: 5, asks: ["form"] });
    expect([inputSchema, outputSchema]).toEqual([remote().inputSchema, output]);
    expect(parseArguments({ frames: 0 })).toMatchObject({ ok: false, message: expect.stringContaining("frames") });
    expect(parseArguments({ frames: 1 })).toEqual({ ok: true, value: { frames: 1 } });
  });

  it("runs nowhere here", () => {
    expect(() => remoteTool(remote()).run({}, {} as never)).toThrow("runs at its workers");
  });

  it.each<[string, object, string]>([
    ["a queue with a space", { queue: "a b" }, "`queue` must be 1 to 64"],
    ["a queue without a name", { queue: "" }, "`queue` must be 1 to 64"],
    ["no task at all", { task: "forbidden" }, '`task` must be "required" or "optional"'],
    ["a runner of its own", { runs: "workflow" }, "`runs` is for tools that run here"],
    ["something to run before the task", { prepare: () => {} }, "`prepare` is for tools that run here"],
    [
      "arguments that are a list",
      { inputSchema: { type: "array" } },
      'the root of `inputSchema` must have `type: "object"`',
    ],
    ["a schema that cannot be", { inputSchema: { type: "object", pattern: "(" } }, "`inputSchema`: the pattern"],
    [
      "results of no type",
      { outputSchema: { type: "thing" } },
      '`outputSchema`: "thing" at the root is not a JSON type',
    ],
    [
      "a header on a list",
      { inputSchema: { type: "object", properties: { a: { type: "array", "x-mcp-header": "A" } } } },
      "`inputSchema`: x-mcp-header",
    ],
  ])("is refused with %s, in the words of its declaration", (_, facts, message) => {
    expect(() => registerTool(remoteTool({ ...remote(), ...facts }) as AnyTool)).toThrow(
      expect.objectContaining({
        code: "misconfigured",
        message: expect.stringMatching(new RegExp(`^Tool "render": .*${escaped(message)}`)),
      }),
    );
  });
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
