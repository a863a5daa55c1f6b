import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { publishedKeys } from "../src/jwks";
import { signingKey } from "./support/access-token";

const header = { alg: "ES256", kid: "ec-1" };
const token = { payload: "", signature: "" };

/** What the issuer answers, one request after the other. */
function keysFrom(...answers: readonly (() => Promise<Response>)[]) {
  const log: object[] = [];
  let asked = 0;
  vi.stubGlobal("fetch", () => answers[Math.min(asked++, answers.length - 1)]?.());
  const keys = publishedKeys({ url: "https://login.example/keys", clock: Date.now, log: (line) => log.push(line) });
  return { key: (kid = "ec-1") => keys({ ...header, kid }, token), asked: () => asked, log };
}

let published: { readonly keys: readonly object[] };
beforeEach(async () => {
  published = { keys: [(await signingKey("ES256", "ec-1")).jwk] };
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const right = async () => Response.json(published);
const never = () => new Promise<Response>(() => {});
const overloaded = { code: "overloaded", data: { retryAfterMs: 5_000 } };

describe("publishedKeys", () => {
  it("does not wait for a request that was dropped while it asked", async () => {
    const { key, asked } = keysFrom(never, right);
    void key();
    const others = Promise.all([key(), key(), key()]);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(200);
    for (const found of await others) expect(found).toMatchObject({ type: "public" });
    expect(asked()).toBe(2);
  });

  it("lets others use the keys at hand while one request renews them, and renews them though that one was dropped", async () => {
    const { key, asked } = keysFrom(right, never, right);
    await key();
    await vi.advanceTimersByTimeAsync(600_000);
    void key();
    expect(await key()).toMatchObject({ type: "public" });
    expect(asked()).toBe(2);
    await vi.advanceTimersByTimeAsync(5_000);
    await key();
    expect(asked()).toBe(3);
  });

  it.each<[string, () => Promise<Response>]>([
    ["an error of the network", () => Promise.reject(new TypeError("no route"))],
    ["a status of an error", async () => Response.json(published, { status: 500 })],
    ["a redirect", async () => Response.json(published, { status: 302, headers: { Location: "https://x.example" } })],
    ["no JSON", async () => new Response("<html>")],
    ["no key set", async () => Response.json({ keys: "none" })],
    ["a list", async () => Response.json([published])],
  ])("takes %s for no answer, and says so in the log", async (_, wrong) => {
    const { key, asked, log } = keysFrom(right, wrong, right);
    await key();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await key()).toMatchObject({ type: "public" });
    await expect(key("ec-2")).rejects.toMatchObject(overloaded);
    expect([asked(), log.length]).toEqual([2, 1]);
    await vi.advanceTimersByTimeAsync(5_000);
    await expect(key("ec-2")).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" });
    expect([asked(), log.length]).toEqual([3, 1]);
  });
});
