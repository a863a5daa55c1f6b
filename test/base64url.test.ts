import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64url, encodeBase64url } from "../src/base64url";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const platform = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

describe("base64url", () => {
  it("spells bytes as the platform does, without padding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(encodeBase64url(bytes)).toBe(platform(bytes));
      }),
    );
  });

  it("reads back what it wrote", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        expect(decodeBase64url(encodeBase64url(bytes))).toEqual(bytes);
      }),
    );
  });

  it("reads nothing but the one spelling", () => {
    const texts = fc.oneof(
      fc.string({ maxLength: 12, unit: fc.constantFrom(...ALPHABET) }),
      fc.string({ maxLength: 12, unit: "binary" }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = decodeBase64url(text);
        if (bytes !== null) expect(encodeBase64url(bytes)).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(["A", "AAAAA", "AA==", "AB", "AAB", "A+", "A/", "AA A", "ÀA", "\u{10041}"])("refuses %j", (text) => {
    expect(decodeBase64url(text)).toBeNull();
  });
});
