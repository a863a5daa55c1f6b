/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/task/json";
import { compileJsonSchema } from "../../src/tool/json-schema";

const compile = (schema: JsonObject) => compileJsonSchema(schema, "The schema");
const messageOf = (schema: JsonObject, value: Json): string | null => {
  const checked = compile(schema).check(value, "arguments");
  return checked.ok ? null : checked.message;
};

describe("compileJsonSchema", () => {
  it.each<[string, JsonObject, string]>([
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, "the dialect"],
    [
      "another dialect further in",
      { properties: { a: { $schema: "https://json-schema.org/draft/2019-09/schema" } } },
      "the dialect",
    ],
    [
      "a $ref to the network",
      { properties: { a: { $ref: "https://example.com/a.json" } } },
      "leads outside the schema",
    ],
    ["a $ref to a neighbour file", { properties: { a: { $ref: "a.json#/b" } } }, "leads outside the schema"],
    ["a $ref that points at nothing", { properties: { a: { $ref: "#/$defs/none" } } }, "points at nothing"],
    ["a $ref that is no text", { properties: { a: { $ref: 5 } } }, "must be text"],
    ["a $dynamicRef, which would not be followed", { properties: { a: { $dynamicRef: "#a" } } }, "$dynamicRef"],
    [
      "a $ref to itself",
      { $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#/$defs/a" }] } } },
      "leads back to itself",
    ],
    ["a $ref that explodes", doubling(12), "more than 1000 subschemas"],
    ["a type that is none", { properties: { a: { type: "int" } } }, '"int" at "properties/a" is not a JSON type'],
    ["a pattern that is none", { properties: { a: { pattern: "(" } } }, 'the pattern "("'],
    ["a pattern of names that is none", { patternProperties: { "(": {} } }, 'the pattern "("'],
    ["a subschema that is none", { properties: { a: "string" } }, '"properties/a" must be a schema'],
    ["two schemas of one $id", { $defs: { a: { $id: "x" }, b: { $id: "x", type: "string" } } }, "the same $id"],
    ["a schema nested too deeply", nested(40), "levels deep"],
    [
      "a schema of too many parts",
      { properties: Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`p${n}`, {}])) },
      "more than 5000",
    ],
  ])("refuses %s", (_, schema, message) => {
    expect(() => compile(schema)).toThrow(message);
  });

  it("takes the dialect by its name, references inside the document and schemas that contain themselves", () => {
    const tree = {
      $schema: "https://json-schema.org/draft/2020-12/schema#",
      $id: "https://example.com/tree",
      $defs: { leaf: { $anchor: "leaf", type: "string" } },
      properties: {
        name: { $ref: "#leaf" },
        other: { $ref: "https://example.com/tree#/$defs/leaf" },
        children: { items: { $ref: "#" } },
      },
    };
    expect(messageOf(tree, { name: "a", children: [{ name: "b", children: [] }] })).toBeNull();
    expect(messageOf(tree, { children: [{ name: "b" }, { other: 1 }] })).toBe(
      "arguments.children[1].other must be a string.",
    );
  });

  it("does not take data and property names for schemas", () => {
    const schema = {
      properties: { $ref: { type: "string" }, type: { enum: [{ $ref: "elsewhere.json" }, 1] } },
      default: { $schema: "none", $ref: "elsewhere.json" },
    };
    expect(messageOf(schema, { $ref: "x", type: 1 })).toBeNull();
    expect(messageOf(schema, { $ref: 1 })).toBe("arguments.$ref must be a string.");
  });

  it("leaves the author's schema alone", () => {
    const schema = Object.freeze({ type: "object", properties: Object.freeze({ a: Object.freeze({ $ref: "#" }) }) });
    expect(compile(schema).schema).toEqual(schema);
    expect(Object.getOwnPropertyNames(schema)).toEqual(["type", "properties"]);
  });

  it("bounds lists whose items are compared with each other, where the author did not", () => {
    const unique = { properties: { list: { type: "array", uniqueItems: true } } };
    const items = Array.from({ length: 1001 }, (_, index) => index);
    expect(messageOf(unique, { list: items })).toBe("arguments.list must have at most 1000 items.");
    expect(messageOf(unique, { list: items.slice(1) })).toBeNull();
    expect(messageOf({ properties: { list: { uniqueItems: true, maxItems: 2000 } } }, { list: items })).toBeNull();
    expect(compile(unique).schema).toEqual(unique);
  });

  it("survives names that are not Unicode and values nested very deeply", () => {
    const strict = { type: "object", additionalProperties: false };
    expect(messageOf(strict, { "\ud800": 1 })).toBe("arguments has a property whose name is not valid Unicode.");
    let deep: Json = 1;
    for (let depth = 0; depth < 20_000; depth += 1) deep = { child: deep };
    expect(messageOf({ properties: { child: { $ref: "#" } } }, deep)).toContain("nested too deeply");
  });
});

describe("the message for the first field that does not fit", () => {
  it.each<[JsonObject, Json, string]>([
    [{ properties: { ms: { type: "number" } } }, { ms: "soon" }, "arguments.ms must be a number."],
    [{ properties: { ms: { type: ["integer", "null"] } } }, { ms: 1.5 }, "arguments.ms must be an integer or null."],
    [{ type: "object" }, [], "arguments must be an object."],
    [{ required: ["a", "b"] }, { a: 1 }, "arguments.b is required."],
    [{ properties: { a: { required: ["first name"] } } }, { a: {} }, 'arguments.a["first name"] is required.'],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, 'arguments.b is required when "a" is given.'],
    [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, 'arguments.b is not allowed; known here: "a".'],
    [{ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 }, 'arguments.b is not allowed; known here: "a".'],
    [{ additionalProperties: { type: "string" } }, { b: 1 }, "arguments.b must be a string."],
    [{ patternProperties: { "^x": { type: "string" } } }, { "x/~%y": 1 }, 'arguments["x/~%y"] must be a string.'],
    [{ propertyNames: { pattern: "^a" } }, { b: 1 }, "arguments has a property name that is not allowed."],
    [{ minProperties: 1 }, {}, "arguments must have at least 1 property."],
    [{ properties: { a: { enum: ["x", 1, null] } } }, { a: 2 }, 'arguments.a must be one of "x", 1 or null.'],
    [{ properties: { a: { const: "x" } } }, { a: 2 }, 'arguments.a must be "x".'],
    [{ properties: { a: { minimum: 1 } } }, { a: 0 }, "arguments.a must be at least 1."],
    [{ properties: { a: { maximum: 1 } } }, { a: 2 }, "arguments.a must be at most 1."],
    [{ properties: { a: { exclusiveMinimum: 1 } } }, { a: 1 }, "arguments.a must be greater than 1."],
    [{ properties: { a: { exclusiveMaximum: 1 } } }, { a: 1 }, "arguments.a must be less than 1."],
    [{ properties: { a: { multipleOf: 0.1 } } }, { a: 0.25 }, "arguments.a must be a multiple of 0.1."],
    [{ properties: { a: { minLength: 2 } } }, { a: "x" }, "arguments.a must be at least 2 characters long."],
    [{ properties: { a: { maxLength: 1 } } }, { a: "xx" }, "arguments.a must be at most 1 character long."],
    [{ properties: { a: { pattern: "^x" } } }, { a: "y" }, 'arguments.a must match the pattern "^x".'],
    [
      { properties: { a: { format: "date-time" } } },
      { a: "y" },
      "arguments.a must be an ISO 8601 date and time with `Z` or an offset, e.g. 2030-01-31T09:00:00+01:00.",
    ],
    [{ properties: { a: { minItems: 2 } } }, { a: [1] }, "arguments.a must have at least 2 items."],
    [{ properties: { a: { uniqueItems: true } } }, { a: [1, 1] }, "arguments.a must not have the same item twice."],
    [{ properties: { a: { items: { type: "string" } } } }, { a: ["x", 1] }, "arguments.a[1] must be a string."],
    [
      { properties: { a: { prefixItems: [{ type: "string" }], items: false } } },
      { a: ["x", 1] },
      "arguments.a[1] is not allowed.",
    ],
    [
      { properties: { a: { contains: { type: "string" } } } },
      { a: [1] },
      "arguments.a has too few or too many items of the kind it must contain.",
    ],
    [
      { properties: { a: { anyOf: [{ type: "string" }, { type: "integer" }] } } },
      { a: true },
      "arguments.a must be a string or an integer that fits the schema.",
    ],
    [
      { oneOf: [{ required: ["a"] }, { required: ["b"] }] },
      {},
      "arguments must fit exactly one of the schema's alternatives.",
    ],
    [{ properties: { a: { not: { const: 1 } } } }, { a: 1 }, "arguments.a has a value that is not allowed."],
    [{ allOf: [{ properties: { a: { type: "string" } } }] }, { a: 1 }, "arguments.a must be a string."],
    [{ if: { required: ["a"] }, then: { required: ["b"] } }, { a: 1 }, "arguments.b is required."],
    [
      { properties: { a: { $ref: "#/$defs/s" } }, $defs: { s: { type: "object", required: ["x"] } } },
      { a: {} },
      "arguments.a.x is required.",
    ],
    [{ properties: { b: { type: "string" }, a: { type: "string" } } }, { a: 1, b: 2 }, "arguments.b must be a string."],
  ])("%j on %j", (schema, value, message) => {
    expect(messageOf(schema, value)).toBe(message);
  });

  it("is short, whatever a caller calls its properties", () => {
    const name = "n".repeat(100_000);
    const message = messageOf({ additionalProperties: false }, { [name]: 1 });
    expect(message).toMatch(/^arguments\["n+…\] is not allowed\.$/);
    expect(message?.length).toBeLessThan(200);
    expect(messageOf({ enum: Array.from({ length: 5000 }, (_, n) => `value ${n}`) }, {})?.length).toBeLessThan(500);
  });
});

/** 2^levels checks of one value, in a few lines of schema. */
function doubling(levels: number): JsonObject {
  const twice = (to: string): Json => ({ allOf: [{ $ref: to }, { $ref: to }] });
  const defs = Array.from(
    { length: levels },
    (_, level) => [`d${level}`, level === 0 ? {} : twice(`#/$defs/d${level - 1}`)] as const,
  );
  return { $defs: Object.fromEntries(defs) };
}

function nested(levels: number): JsonObject {
  return levels === 0 ? {} : { properties: { a: nested(levels - 1) } };
}
