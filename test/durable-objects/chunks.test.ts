import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHUNK_BYTES, join, split, toBytes, toText } from "../../durable-objects/chunks";

describe("toBytes and toText", () => {
  it("give back any string, well-formed or not", () => {
    const anyString = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
    );
    fc.assert(
      fc.property(anyString, (text) => {
        const { format, bytes } = toBytes(text);
        expect(toText(format, bytes)).toBe(text);
      }),
    );
  });

  it.each([
    "",
    "\ufeff",
    "\ufeff\ufeffx",
    "\u0000",
    "\ud800",
    "\udc00\ud800",
    "é".repeat(70_000),
    "\ud800".repeat(70_000),
  ])("give back %j", (text) => {
    const { format, bytes } = toBytes(text);
    expect(toText(format, bytes) === text).toBe(true);
  });
});

describe("split and join", () => {
  it.each([
    [0, [0]],
    [1, [1]],
    [CHUNK_BYTES, [CHUNK_BYTES]],
    [CHUNK_BYTES + 1, [CHUNK_BYTES, 1]],
    [3 * CHUNK_BYTES, [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES]],
  ])("cut %d bytes into rows that fit", (length, sizes) => {
    const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
    const chunks = split(bytes);
    expect(chunks.map((chunk) => chunk.length)).toEqual(sizes);
    expect(Buffer.compare(join(chunks.map((chunk) => chunk.buffer)), bytes)).toBe(0);
  });
});
