import { describe, expect, it } from "vitest";
import * as z from "zod";
import { compileZod } from "../../src/tool/zod-schema";

const messageOf = (schema: z.ZodType, value: unknown): string | null => {
  const checked = compileZod(schema, "input", "The schema").check(value, "arguments");
  return checked.ok ? null : checked.message;
};
const field = (schema: z.ZodType, value: unknown): string | null => messageOf(z.object({ a: schema }), { a: value });

describe("the message for the first field that does not fit a zod schema", () => {
  it.each<[z.ZodType, unknown, string]>([
    [z.number(), "x", "arguments.a must be a number."],
    [z.number(), undefined, "arguments.a is required."],
    [z.int(), 1.5, "arguments.a must be an integer."],
    [z.record(z.string(), z.number()), [], "arguments.a must be an object."],
    [z.array(z.object({ b: z.string() })), [{ b: "x" }, { b: 1 }], "arguments.a[1].b must be a string."],
    [z.record(z.string(), z.number()), { "x y": "1" }, 'arguments.a["x y"] must be a number.'],
    [z.enum(["x", "y"]), "z", 'arguments.a must be "x" or "y".'],
    [z.literal("x"), "z", 'arguments.a must be "x".'],
    [z.number().min(1), 0, "arguments.a must be at least 1."],
    [z.number().gt(1), 1, "arguments.a must be more than 1."],
    [z.number().lt(1), 1, "arguments.a must be less than 1."],
    [z.number().multipleOf(5), 1, "arguments.a must be a multiple of 5."],
    [z.string().min(2), "x", "arguments.a must be at least 2 characters long."],
    [z.array(z.string()).max(1), ["x", "y"], "arguments.a must have at most 1 item."],
    [z.url(), "x", "arguments.a must be a valid url."],
    [z.string().regex(/^x/), "y", 'arguments.a must match "/^x/".'],
    [z.strictObject({ b: z.string() }), { b: "x", c: 1 }, 'arguments.a does not know "c".'],
    [z.union([z.string(), z.number()]), true, "arguments.a must be a string or a number."],
    [z.union([z.string().min(2), z.number()]), "x", "arguments.a must be at least 2 characters long."],
    [
      z.discriminatedUnion("k", [z.object({ k: z.literal("p") }), z.object({ k: z.literal("q") })]),
      { k: "z" },
      'arguments.a.k must be "p" or "q".',
    ],
    [z.record(z.string().regex(/^x/), z.number()), { y: 1 }, "arguments.a.y is not an allowed name."],
  ])("%#: %o with %j", (schema, value, message) => {
    expect(field(schema, value)).toBe(message);
  });

  it("keeps what the author of the schema wrote", () => {
    expect(field(z.string("Give a city."), 1)).toBe("arguments.a: Give a city.");
    expect(
      field(
        z.number().refine((n) => n % 2 === 0, "The number must be even."),
        1,
      ),
    ).toBe("arguments.a: The number must be even.");
    expect(
      messageOf(
        z.object({}).refine(() => false, "Give one of them."),
        {},
      ),
    ).toBe("arguments: Give one of them.");
  });

  it("says little of what only a refinement knows", () => {
    expect(
      field(
        z.string().refine(() => false),
        "x",
      ),
    ).not.toContain("undefined");
  });
});
