import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSealer } from "../src/seal";
import type { JsonObject } from "../src/task/json";

const SECRET = "a secret of thirty-two characters";
const sealed = async (payload: JsonObject = { a: 1 }, expiresAt = 2_000) => {
  let now = 1_000;
  const sealer = createSealer(
    async () => SECRET,
    () => now,
  );
  const token = await sealer.seal("state", payload, "ann", expiresAt - now);
  return { sealer, token, at: (time: number) => void (now = time) };
};

describe("a sealed token", () => {
  it("opens to what was sealed, also in another isolate with the same secret", async () => {
    const payload = { text: "zażółć \ud83c\udf89 \u2028", deep: [{ n: null }], "": 0 };
    const { sealer, token } = await sealed(payload);
    expect(await sealer.open("state", token, "ann")).toEqual(payload);
    expect(
      await createSealer(
        async () => SECRET,
        () => 1_000,
      ).open("state", token, "ann"),
    ).toEqual(payload);
  });

  it("is URL-safe text that shows nothing of what is inside, and is never the same twice", async () => {
    const { sealer, token } = await sealed({ secret: "visible?" });
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(atob(token.replaceAll("-", "+").replaceAll("_", "/"))).not.toContain("visible?");
    expect(await sealer.seal("state", { secret: "visible?" }, "ann", 2_000)).not.toBe(token);
  });

  it("does not open for another caller or another purpose", async () => {
    const { sealer, token } = await sealed();
    expect(await sealer.open("state", token, "bob")).toBeNull();
    expect(await sealer.open("state", token, "")).toBeNull();
    expect(await sealer.open("cursor", token, "ann")).toBeNull();
  });

  it("does not mistake one pair of purpose and caller for another", async () => {
    const sealer = createSealer(
      async () => SECRET,
      () => 0,
    );
    const token = await sealer.seal("a", {}, 'b","c', 1);
    expect(await sealer.open('a","b', token, "c")).toBeNull();
    expect(await sealer.open("a", token, 'b","c')).toEqual({});
  });

  it("opens until the instant it expires", async () => {
    const { sealer, token, at } = await sealed({ a: 1 }, 2_000);
    at(1_999);
    expect(await sealer.open("state", token, "ann")).toEqual({ a: 1 });
    at(2_000);
    expect(await sealer.open("state", token, "ann")).toBeNull();
  });

  it("does not open under another secret", async () => {
    const { token } = await sealed();
    expect(
      await createSealer(
        async () => `${SECRET}!`,
        () => 1_000,
      ).open("state", token, "ann"),
    ).toBeNull();
  });

  it("does not open when any one character is another, missing or added", async () => {
    const { sealer, token } = await sealed();
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      for (const middle of [other, "", `${token[at]}A`]) {
        const altered = token.slice(0, at) + middle + token.slice(at + 1);
        expect(await sealer.open("state", altered, "ann"), altered).toBeNull();
      }
    }
  });

  it("does not open when it was never one, and asks for no key to see so", async () => {
    const sealer = createSealer(
      () => Promise.reject(new Error("asked")),
      () => 0,
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
        expect(await sealer.open("state", text, "ann")).toBeNull();
      }),
    );
    for (const text of ["", "A", "AQ", "____", "A".repeat(100)])
      expect(await sealer.open("state", text, "ann")).toBeNull();
  });

  it("does not open when it is well formed but made up", async () => {
    const { sealer, token } = await sealed();
    const forged = `${token.slice(0, 8)}${"A".repeat(token.length - 8)}`;
    expect(await sealer.open("state", forged, "ann")).toBeNull();
  });
});

describe("the sealer's secret", () => {
  it("is asked for once it is known no more", async () => {
    let asked = 0;
    const sealer = createSealer(
      async () => (asked++, SECRET),
      () => 0,
    );
    const token = await sealer.seal("state", {}, "ann", 1);
    await sealer.open("state", token, "ann");
    await sealer.seal("state", {}, "bob", 1);
    expect(asked).toBe(1);
  });

  it("is asked for again after it could not be had", async () => {
    let fails = true;
    const sealer = createSealer(
      async () => {
        if (fails) throw new Error("unreachable");
        return SECRET;
      },
      () => 0,
    );
    await expect(sealer.seal("state", {}, "ann", 1)).rejects.toThrow("unreachable");
    fails = false;
    const token = await sealer.seal("state", {}, "ann", 1);
    expect(await sealer.open("state", token, "ann")).toEqual({});
  });
});
