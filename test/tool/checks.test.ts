import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { among, integer, matching, within } from "../../src/tool/checks";
import { checkZod } from "../../src/tool/zod-schema";

describe("the checks of the schemas", () => {
  it.each<[z.ZodMiniType, readonly unknown[], unknown, string]>([
    [z.number().check(within(1, 3)), [1, 3], 0, "it must be at least 1."],
    [z.number().check(within(1, 3)), [2.5], 3.5, "it must be at most 3."],
    [z.string().check(within(1, 3)), ["a", "😀😀😀"], "", "it must be at least 1 character long."],
    [z.string().check(within(0, 3)), ["", "abc"], "abcd", "it must be at most 3 characters long."],
    [z.array(z.string()).check(within(1)), [["a"]], [], "it must have at least 1 item."],
    [z.string().check(matching(/^a+$/)), ["a", "aa"], "b", 'it must match "/^a+$/".'],
    [integer(), [-1, 0, 2 ** 53 - 1], 1.5, "it must be an integer."],
    [integer().check(within(1)), [1], 2 ** 53, "it must be an integer."],
    [integer().check(within(1)), [1], "1", "it must be a number."],
    [among(["a", "b"]), ["a", "b"], "c", 'it must be "a" or "b".'],
    [z.object({ at: among(["a"]) }), [{ at: "a" }], {}, 'it.at must be "a".'],
    [z.object({ at: z.optional(among(["a"])) }), [{ at: "a" }, {}], { at: null }, 'it.at must be "a".'],
    [z.string().check(within(2, 3, "Say more.")), ["ab"], "a", "it: Say more."],
  ])("say what is wrong (%#)", (schema, right, wrong, message) => {
    for (const value of right) expect(checkZod(schema, value, "it")).toEqual({ ok: true, value });
    expect(checkZod(schema, wrong, "it")).toEqual({ ok: false, message });
  });

  it("look no further at what is of another kind", () => {
    const kinded = z.object({ kind: among(["a"]) }).check(z.refine(({ kind }) => kind.length > 0));
    const counted = z.object({ count: integer() }).check(z.refine(({ count }) => count.toFixed() !== ""));
    expect(checkZod(kinded, { kind: { length: null } }, "it")).toMatchObject({ message: 'it.kind must be "a".' });
    for (const read of [kinded, counted]) {
      expect(read.safeParse({ kind: null, count: null }).error?.issues).toHaveLength(1);
    }
  });
});
