import { CallToolResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AnyTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";

const resultOf = (returned: unknown, output?: unknown) => {
  const tool = {
    name: "t",
    description: "d",
    input: { type: "object" },
    task: "optional",
    run: () => "",
    ...(output !== undefined && { output }),
  };
  const registered = createRegistry([tool as unknown as AnyTool]).get("t");
  if (!registered) throw new Error("It was not registered.");
  return registered.toResult(returned);
};

const text = (value: string) => ({ type: "text", text: value });
const count = z.object({ count: z.int(), note: z.string().optional() });

describe("toResult without an output schema", () => {
  it("makes text one text block", () => {
    expect(resultOf("hello")).toEqual({ ok: true, value: { content: [text("hello")] } });
    expect(resultOf("")).toEqual({ ok: true, value: { content: [text("")] } });
  });

  it("takes a tool result as it is", () => {
    const result = {
      content: [text("x")],
      structuredContent: [1, { a: null }],
      isError: true,
      _meta: { "com.example/k": 1 },
    };
    expect(resultOf(result)).toEqual({ ok: true, value: result });
    expect(resultOf({ content: [] })).toEqual({ ok: true, value: { content: [] } });
  });

  it.each([
    ["nothing", undefined, "The tool returned nothing, which is not JSON."],
    ["a bigint", 5n, "The tool returned a value of type bigint, which is not JSON."],
    ["a value", { count: 1 }, "declare its `output` schema"],
    ["null", null, "declare its `output` schema"],
    ["content that is no list", { content: "x" }, "declare its `output` schema"],
    ["a field a result does not have", { content: [], resultType: "task" }, 'result does not know "resultType".'],
    ["isError that is null", { content: [], isError: null }, "result.isError must be a boolean."],
  ])("refuses %s", (_, returned, message) => {
    expect(resultOf(returned)).toEqual({ ok: false, message: expect.stringContaining(message) });
  });
});

describe("content blocks", () => {
  const audio = { type: "audio", data: "aGk=", mimeType: "audio/wav" };
  const link = { type: "resource_link", uri: "file:///a", name: "a" };

  it.each<[string, object]>([
    ["text", text("x")],
    [
      "text with annotations",
      { ...text("x"), annotations: { audience: ["user"], priority: 0.5, lastModified: "2029-01-01T00:00:00Z" } },
    ],
    ["image", { type: "image", data: "aGk=", mimeType: "image/png" }],
    ["audio", audio],
    [
      "resource_link",
      {
        ...link,
        title: "A",
        description: "d",
        mimeType: "text/plain",
        size: 5,
        icons: [{ src: "data:,", sizes: ["any"] }],
      },
    ],
    ["resource with text", { type: "resource", resource: { uri: "file:///a", text: "x" } }],
    ["resource with a blob", { type: "resource", resource: { uri: "file:///a", mimeType: "a/b", blob: "aGk=" } }],
    ["a field of a later revision", { ...text("x"), later: { anything: 1 } }],
  ])("take %s, as the official client does", (_, block) => {
    const result = resultOf({ content: [block] });
    expect(result).toEqual({ ok: true, value: { content: [block] } });
    expect(CallToolResultV2Schema.safeParse({ resultType: "complete", content: [block] }).success).toBe(true);
  });

  it.each<[string, object, string]>([
    ["an unknown type", { type: "video" }, "result.content[0].type must be"],
    ["text without text", { type: "text" }, "result.content[0].text is required."],
    [
      "an image that is not base64",
      { type: "image", data: "%%%", mimeType: "image/png" },
      "result.content[0].data: Give base64.",
    ],
    ["audio without a type", { ...audio, mimeType: undefined }, "result.content[0].mimeType is required."],
    ["a link without a name", { ...link, name: undefined }, "result.content[0].name is required."],
    ["a link of a broken size", { ...link, size: 1.5 }, "result.content[0].size must be an integer."],
    [
      "a priority above 1",
      { ...text("x"), annotations: { priority: 2 } },
      "result.content[0].annotations.priority must be at most 1.",
    ],
    [
      "an annotation of a day that is none",
      { ...text("x"), annotations: { lastModified: "2029-02-30T00:00:00Z" } },
      "result.content[0].annotations.lastModified: Give an ISO 8601 date and time.",
    ],
    [
      "a resource without contents",
      { type: "resource", resource: { uri: "file:///a" } },
      "result.content[0].resource: Give `text` or `blob`.",
    ],
    ["_meta that is no object", { ...text("x"), _meta: 1 }, "result.content[0]._meta must be an object."],
  ])("refuse %s", (_, block, message) => {
    expect(resultOf({ content: [block] })).toEqual({ ok: false, message: expect.stringContaining(message) });
  });
});

describe("toResult with an output schema", () => {
  it("gives the value as structured content and as the same JSON in a text block", () => {
    expect(resultOf({ count: 1, note: undefined }, count)).toEqual({
      ok: true,
      value: { content: [text('{"count":1}')], structuredContent: { count: 1 } },
    });
  });

  it("applies the output schema's defaults to both", () => {
    expect(resultOf({}, z.object({ count: z.int().default(3) }))).toEqual({
      ok: true,
      value: { content: [text('{"count":3}')], structuredContent: { count: 3 } },
    });
  });

  it("takes values that are not objects, text too", () => {
    expect(resultOf("x", z.string())).toEqual({ ok: true, value: { content: [text('"x"')], structuredContent: "x" } });
    expect(resultOf(null, { type: "null" })).toEqual({
      ok: true,
      value: { content: [text("null")], structuredContent: null },
    });
    expect(resultOf([1], { type: "array" })).toMatchObject({ ok: true, value: { structuredContent: [1] } });
  });

  it("refuses a value that does not fit", () => {
    expect(resultOf({ count: "1" }, count)).toEqual({ ok: false, message: "output.count must be a number." });
    expect(resultOf("x", count)).toEqual({ ok: false, message: "output must be an object." });
    expect(resultOf({ count: "1" }, { type: "object", properties: { count: { type: "integer" } } })).toEqual({
      ok: false,
      message: "output.count must be an integer.",
    });
  });

  it("wants structured content that fits in a whole result", () => {
    const result = { content: [text("one")], structuredContent: { count: 1 } };
    expect(resultOf(result, count)).toEqual({ ok: true, value: result });
    expect(resultOf({ content: [] }, count)).toEqual({
      ok: false,
      message: expect.stringContaining("structuredContent is required"),
    });
    expect(resultOf({ content: [], structuredContent: { count: "1" } }, count)).toEqual({
      ok: false,
      message: "result.structuredContent.count must be a number.",
    });
  });

  it("lets an error look as it likes (MCP 2026-07-28 tools §Error Handling)", () => {
    const failure = { content: [text("no")], isError: true };
    expect(resultOf(failure, count)).toEqual({ ok: true, value: failure });
    expect(resultOf({ ...failure, structuredContent: { why: 1 } }, count)).toMatchObject({ ok: true });
  });

  it("takes a value that merely has content for a value", () => {
    const page = z.object({ content: z.array(z.string()), next: z.string() });
    expect(resultOf({ content: ["a"], next: "b" }, page)).toMatchObject({
      ok: true,
      value: { structuredContent: { content: ["a"], next: "b" } },
    });
  });

  it("keeps a key named __proto__ for a JSON Schema", () => {
    const value = JSON.parse('{"__proto__":{"a":1}}') as unknown;
    const result = resultOf(value, { type: "object" });
    expect(JSON.stringify(result.ok && result.value.structuredContent)).toBe('{"__proto__":{"a":1}}');
  });
});
