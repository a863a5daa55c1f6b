/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { JsonObject } from "../../src/task/json";
import { headerParams } from "../../src/tool/header-params";

const read = (schema: JsonObject) => headerParams(schema, "The schema");
const region = { type: "string", "x-mcp-header": "Region" };

describe("headerParams", () => {
  it("maps each header to the property it repeats, at any depth of properties", () => {
    const schema = {
      type: "object",
      properties: {
        region,
        query: {
          type: "object",
          properties: {
            limit: { type: "integer", "x-mcp-header": "X-Limit" },
            dry: { type: "boolean", "x-mcp-header": "dry!" },
          },
        },
        plain: { type: "string" },
      },
    };
    expect([...read(schema)]).toEqual([
      ["Region", ["region"]],
      ["X-Limit", ["query", "limit"]],
      ["dry!", ["query", "dry"]],
    ]);
    expect(read({ type: "object" }).size).toBe(0);
  });

  it("reads what zod's meta gives", () => {
    const schema = z.toJSONSchema(z.object({ region: z.string().meta({ "x-mcp-header": "Region" }).optional() }), {
      io: "input",
    });
    expect([...read(schema as unknown as JsonObject)]).toEqual([["Region", ["region"]]]);
  });

  it("does not take a property of that name, or data, for an annotation", () => {
    const schema = {
      properties: { "x-mcp-header": { type: "number" } },
      default: { "x-mcp-header": 5 },
      enum: [{ "x-mcp-header": "" }],
    };
    expect(read(schema).size).toBe(0);
  });

  it.each([
    ["empty", ""],
    ["not text", 5],
    ["with a space", "My Region"],
    ["with a line break", "Region\r\nX: 1"],
    ["with a colon", "Region:"],
    ["not ASCII", "Région"],
  ])("refuses a name that is %s", (_, name) => {
    expect(() => read({ properties: { a: { type: "string", "x-mcp-header": name } } })).toThrow(
      "must be a header name",
    );
  });

  it.each([["number"], ["object"], ["array"], ["null"], [["string", "null"]], [undefined]])(
    "refuses a property of type %j",
    (type) => {
      expect(() => read({ properties: { a: { ...(type && { type }), "x-mcp-header": "A" } } })).toThrow(
        '"string", "integer" or "boolean"',
      );
    },
  );

  it("refuses names that differ by case only", () => {
    expect(() => read({ properties: { a: region, b: { type: "string", "x-mcp-header": "REGION" } } })).toThrow(
      "is used twice",
    );
  });

  it.each<[string, JsonObject]>([
    ["the root", region],
    ["items", { properties: { list: { items: { properties: { region } } } } }],
    ["prefixItems", { properties: { list: { prefixItems: [region] } } }],
    ["additionalProperties", { additionalProperties: region }],
    ["patternProperties", { patternProperties: { x: region } }],
    ["allOf", { allOf: [{ properties: { region } }] }],
    ["anyOf", { properties: { a: { anyOf: [region] } } }],
    ["oneOf", { oneOf: [{ properties: { region } }] }],
    ["not", { not: { properties: { region } } }],
    ["if", { if: { properties: { region } } }],
    ["then", { then: { properties: { region } } }],
    ["else", { else: { properties: { region } } }],
    ["dependentSchemas", { dependentSchemas: { a: { properties: { region } } } }],
    ["$defs", { $defs: { region }, properties: { a: { $ref: "#/$defs/region" } } }],
  ])("refuses an annotation under %s", (_, schema) => {
    expect(() => read(schema)).toThrow("through `properties` only");
  });
});
