import { describe, expect, expectTypeOf, it } from "vitest";
import { defineTool } from "../../src/tool/define-tool";
import type { Fitting } from "../../src/tool/fitting";
import { createRegistry } from "../../src/tool/registry";
import type { JsonObject } from "../../src/task/json";

// That these types hold is checked with all others, by the compiler.

const order = {
  type: "object",
  properties: {
    id: { type: ["string", "null"] },
    kind: { type: "string", enum: ["new", "old"] },
    lines: { type: "array", items: { type: "object", properties: { count: { type: "integer" } } } },
    open: { type: "boolean" },
    rest: {},
  },
  required: ["id", "lines"],
} as const;

describe("the type of what fits a JSON Schema", () => {
  it("says of each property what the schema says", () => {
    expectTypeOf<Fitting<typeof order>["id"]>().toEqualTypeOf<string | null>();
    expectTypeOf<Fitting<typeof order>["kind"]>().toEqualTypeOf<"new" | "old" | undefined>();
    expectTypeOf<Fitting<typeof order>["lines"][number]["count"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Fitting<typeof order>["open"]>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Fitting<typeof order>["rest"]>().toEqualTypeOf<unknown>();
  });

  it("says nothing where the schema's own types are lost", () => {
    expectTypeOf<Fitting<JsonObject>>().toEqualTypeOf<unknown>();
    expectTypeOf<Fitting<{ type: string }>>().toEqualTypeOf<unknown>();
    expectTypeOf<Fitting<{ readonly type: "object" }>>().toEqualTypeOf<Readonly<Record<string, unknown>>>();
  });
});

describe("a tool with plain JSON Schemas", () => {
  const tool = defineTool({
    name: "between",
    description: "Counts from one number to another.",
    input: {
      type: "object",
      properties: { from: { type: "integer" }, to: { type: "integer" } },
      required: ["from", "to"],
    },
    output: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
    task: "optional",
    check: ({ from, to }) => (from > to ? "`from` must not be beyond `to`." : undefined),
    run: ({ from, to }) => ({ count: to - from }),
  });
  const registered = createRegistry([tool]).get("between");

  it("gets typed arguments, and says itself what its schema cannot", () => {
    expect(registered?.parseArguments({ from: 1, to: 3 })).toEqual({ ok: true, value: { from: 1, to: 3 } });
    expect(registered?.parseArguments({ from: 3, to: 1 })).toEqual({
      ok: false,
      message: "arguments: `from` must not be beyond `to`.",
    });
  });

  it("is not asked about arguments that do not fit the schema", () => {
    expect(registered?.parseArguments({ from: 3 })).toEqual({ ok: false, message: "arguments.to is required." });
  });
});
