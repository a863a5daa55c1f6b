import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeTaskId, encodeTaskId, mintTaskId, randomTaskId } from "../src/task-id";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const hexIds = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""));

describe("encodeTaskId", () => {
  it.each([
    ["0".repeat(64), "A".repeat(43)],
    ["f".repeat(64), `${"_".repeat(42)}8`],
    [`fb${"0".repeat(62)}`, `-w${"A".repeat(41)}`],
    [`${"0".repeat(62)}01`, `${"A".repeat(41)}AE`],
  ])("spells %s as %s", (hex, id) => {
    expect(encodeTaskId(hex)).toBe(id);
  });

  it.each(["", "0".repeat(63), "0".repeat(65), "A".repeat(64), `${"0".repeat(63)}g`])(
    "takes no %j for a platform id",
    (hex) => {
      expect(() => encodeTaskId(hex)).toThrow("64 lower-case hex digits");
    },
  );
});

describe("decodeTaskId", () => {
  it("gives back the platform id of every id we give out", () => {
    fc.assert(
      fc.property(hexIds, (hex) => {
        const id = encodeTaskId(hex);
        expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
        expect(decodeTaskId(id)).toBe(id.startsWith("-") ? null : hex);
      }),
    );
  });

  it("knows one spelling of an id", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 43, maxLength: 43, unit: fc.constantFrom(...ALPHABET) }), (id) => {
        const hex = decodeTaskId(id);
        if (hex !== null) expect(encodeTaskId(hex)).toBe(id);
      }),
    );
    const siblings = [...ALPHABET].map((last) => `${"A".repeat(42)}${last}`);
    expect(siblings.filter((id) => decodeTaskId(id) !== null)).toHaveLength(16);
  });

  it("never throws, and knows no text of another form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 50 }), (text) => {
        if (text.length !== 43) expect(decodeTaskId(text)).toBeNull();
      }),
    );
  });

  it.each([
    ["empty", ""],
    ["short", "A".repeat(42)],
    ["long", "A".repeat(44)],
    ["padded", `${"A".repeat(43)}=`],
    ["of the other alphabet", `+${"A".repeat(42)}`],
    ["with a space", ` ${"A".repeat(42)}`],
    ["with stray bits", `${"A".repeat(42)}B`],
    ["beginning with a dash", `-w${"A".repeat(41)}`],
    ["in hex", "0".repeat(64)],
    ["a name that objects inherit", "__proto__"],
    ["a letter that looks like one of ours", `А${"A".repeat(42)}`],
  ])("knows no id that is %s", (_, id) => {
    expect(decodeTaskId(id)).toBeNull();
  });
});

describe("minting", () => {
  it("takes another platform id when one would begin with a dash", () => {
    const offered = [`f8${"0".repeat(62)}`, `fb${"0".repeat(62)}`, "1".repeat(64)];
    expect(mintTaskId(() => offered.shift() ?? "")).toBe(encodeTaskId("1".repeat(64)));
    expect(offered).toEqual([]);
  });

  it("makes ids of random bytes where the platform has none", () => {
    const id = randomTaskId((bytes) => bytes.fill(7));
    expect(decodeTaskId(id)).toBe("07".repeat(32));
    expect(
      new Set(Array.from({ length: 100 }, () => randomTaskId((bytes) => crypto.getRandomValues(bytes)))).size,
    ).toBe(100);
  });
});
