import fc from "fast-check";
import { expect, it } from "vitest";
import { parseJson } from "../src/json";

const parse = (text: string) => parseJson(new TextEncoder().encode(text), { maxDepth: 64 });

const letter = fc.constantFrom("\\", '"', "a", "\n", "u", "é");
const spelled = fc.array(fc.tuple(letter, fc.boolean()), { maxLength: 4 }).map((units) => ({
  key: units.map(([unit]) => unit).join(""),
  text: `"${units.map(([unit, plain]) => (plain ? JSON.stringify(unit).slice(1, -1) : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)).join("")}"`,
}));

it("refuses a key twice in one object however it is escaped, and only that", () => {
  fc.assert(
    fc.property(fc.array(spelled, { maxLength: 4 }), (members) => {
      const keys = members.map(({ key }) => key);
      const parsed = parse(`{${members.map(({ text }, at) => `${text}:${at}`).join()}}`);
      if (new Set(keys).size < keys.length) {
        expect(parsed).toEqual({ ok: false, reason: "The body has a JSON object with the same key twice." });
      } else {
        expect(parsed.ok && Object.entries(parsed.value as object)).toEqual(keys.map((key, at) => [key, at]));
      }
    }),
    { numRuns: 5000 },
  );
});

it("refuses bytes that are not UTF-8, and drops a byte order mark", () => {
  expect(parseJson(Uint8Array.from([0x22, 0xff, 0xfe, 0x22]), { maxDepth: 1 })).toEqual({
    ok: false,
    reason: "The body is not valid UTF-8.",
  });
  expect(parse("\ufeff[1]")).toEqual({ ok: true, value: [1], unsafeNumbers: false });
});
