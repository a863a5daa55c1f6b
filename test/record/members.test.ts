import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJson, isJsonObject, membersOf, objectOf } from "../../src/record/members";

/** JSON text in spellings that `JSON.stringify` would not choose. */
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const key = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"__proto__"',
    '"constructor"',
    '""',
    '"_meta"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\\\"',
    '"\\""',
    '"a\\/b"',
  ),
);
const scalar = fc.oneof(
  fc.constantFrom(
    "1.0",
    "-0",
    "1e400",
    "123456789012345678901",
    "0.10",
    "true",
    "false",
    "null",
    '"\\ud800"',
    '"]},{\\""',
  ),
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
);
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(" ,")}]`),
    fc
      .array(fc.tuple(key, tie("value")), { maxLength: 4 })
      .map((all) => `{${all.map(([k, v]) => `${k}: ${v}`).join()}}`),
  ),
}));

describe("membersOf", () => {
  it("gives each value's very text under its decoded key, whatever the spelling", () => {
    const members = fc.array(fc.tuple(key, value, space), { maxLength: 8 });
    fc.assert(
      fc.property(members, space, (all, around) => {
        const body = all.map(([k, v, gap]) => `${gap}${k}${gap}:${gap}${v}${gap}`).join(",");
        const expected = new Map(all.map(([k, v]) => [JSON.parse(k) as string, v]));
        expect(membersOf(`${around}{${body}${around}}${around}`)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it("and objectOf are each other's inverse", () => {
    const members = fc.array(fc.tuple(fc.string({ unit: "binary" }), value));
    fc.assert(
      fc.property(members, (all) => {
        const map = new Map(all);
        expect([...membersOf(objectOf(map))]).toEqual([...map]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("agrees with the platform's parser about what is an object", () => {
    const text = fc.oneof(value, fc.string({ unit: fc.constantFrom(...'{}[]",:\\ 1ea-.') }), fc.json());
    fc.assert(
      fc.property(text, (one) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(one);
        } catch {
          parsed = undefined;
        }
        const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
        expect(isJsonObject(one)).toBe(isObject);
        expect(isJson(one)).toBe(parsed !== undefined);
        if (isObject) expect(membersOf(objectOf(membersOf(one)))).toEqual(membersOf(one));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(["", "null", "[]", "1", '"{}"', "{", '{"a":1', '{"a":1}}', '{"a":1} x', "{'a':1}", '{"a":01}', "\ufeff{}"])(
    "refuses %j",
    (text) => {
      expect(() => membersOf(text)).toThrow(expect.objectContaining({ code: "invalid" }));
    },
  );

  it("counts the last of a repeated key", () => {
    expect([...membersOf('{"a":1,"b":2,"\\u0061":3.0}')]).toEqual([
      ["a", "3.0"],
      ["b", "2"],
    ]);
  });

  it("takes nesting of any depth, and time in proportion to the length", () => {
    const deep = `{"a":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)},"b":1}`;
    expect(membersOf(deep).get("b")).toBe("1");
    const escaped = `{"a":"${"\\\\".repeat(500_000)}${'\\"'.repeat(500_000)}","b":1}`;
    expect(membersOf(escaped).get("b")).toBe("1");
  });
});
