import { describe, expect, it } from "vitest";
import { freeTextField } from "../../src/a2a/free-text";
import { defineTool } from "../../src/tool/define-tool";
import { registerTool } from "../../src/tool/registry";
import type { JsonObject } from "../../src/task/json";

const fieldOf = (input: JsonObject): string | undefined =>
  freeTextField(
    registerTool(
      defineTool({ name: "t", description: "…", input: { type: "object", ...input }, task: "optional", run: () => "" }),
    ),
  );

const properties = { text: { type: "string" }, more: { type: "string" }, n: { type: "integer" } };

describe("the argument that words can fill", () => {
  it("is the only required one, when it is a string", () => {
    expect(fieldOf({ properties, required: ["text"] })).toBe("text");
  });

  it.each<[string, JsonObject]>([
    ["nothing is required", { properties }],
    ["nothing is in the list", { properties, required: [] }],
    ["two are required", { properties, required: ["text", "more"] }],
    ["it is no string", { properties, required: ["n"] }],
    ["it may be a string or not", { properties: { text: { type: ["string", "null"] } }, required: ["text"] }],
    ["nothing is said of it", { properties, required: ["other"] }],
    ["its name is one that objects have", { properties, required: ["toString"] }],
    ["there are no properties", { required: ["text"] }],
  ])("is none when %s", (_, input) => {
    expect(fieldOf(input)).toBeUndefined();
  });
});
