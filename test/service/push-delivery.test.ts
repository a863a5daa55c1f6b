import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ATTEMPT_TIMEOUT_MS, deliver, MAX_PUSH_ATTEMPTS, pushPause } from "../../src/service/push-delivery";
import type { SafeFetch } from "../../src/service/safe-fetch";
import { ToolError } from "../../src/tool/define-tool";
import { targetOf } from "../support/pushing";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const letter = { seq: 7, body: '{"news":true}', contentType: "application/a2a+json" };
const { signal } = new AbortController();

async function sent(over: Parameters<typeof targetOf>[1] = {}, headers?: Readonly<Record<string, string>>) {
  const requests: { url: string; init: RequestInit }[] = [];
  const post: SafeFetch = async (url, init = {}) => {
    requests.push({ url, init });
    return new Response(null, { status: 204 });
  };
  const setback = await deliver(headers ? { ...letter, headers } : letter, targetOf("a", over), post, signal);
  return { setback, requests, headers: Object.fromEntries(new Headers(requests[0]?.init.headers)) };
}

const answered = (response: Response) => deliver(letter, targetOf("a"), async () => response, signal);

describe("an attempt", () => {
  it("posts the letter as it is, follows no redirect, and says no more than it must", async () => {
    const { setback, requests, headers } = await sent();
    expect(setback).toBeNull();
    expect(requests).toMatchObject([
      { url: "https://a.example.com/hook", init: { method: "POST", body: letter.body, redirect: "manual" } },
    ]);
    expect(headers).toEqual({ "content-type": "application/a2a+json" });
  });

  it("carries the letter's own headers, the token and the credentials", async () => {
    const authentication = { scheme: "Bearer", credentials: "s3cret" };
    const { headers } = await sent({ token: "t0ken", authentication }, { "A2A-Version": "1.0", authorization: "x" });
    expect(headers).toEqual({
      "content-type": "application/a2a+json",
      "a2a-version": "1.0",
      authorization: "Bearer s3cret",
      "x-a2a-notification-token": "t0ken",
    });
  });

  it("sends no Authorization for a scheme without credentials", async () => {
    const { headers } = await sent({ authentication: { scheme: "Bearer", credentials: null } });
    expect(headers).not.toHaveProperty("authorization");
  });

  it.each([
    ["a line feed in the token", { token: "a\nb" }],
    ["a carriage return in the token", { token: "a\rb" }],
    ["a header smuggled behind the token", { token: "a\r\nX-Admin: yes" }],
    ["a line end after the token", { token: "a\r\n" }],
    ["a NUL in the token", { token: "a\0b" }],
    ["a character beyond Latin-1", { token: "a\u{1F511}" }],
    ["a line end in the scheme", { authentication: { scheme: "Bearer\r\nX: y", credentials: "c" } }],
    ["a line end in the credentials", { authentication: { scheme: "Bearer", credentials: "c\r\nX: y" } }],
  ])("sends nothing with %s, and does not try again", async (_, over) => {
    const { setback, requests } = await sent(over);
    expect(requests).toEqual([]);
    expect(setback).toMatchObject({ isFinal: true, reason: expect.stringMatching(/no header may have/) as string });
  });

  it("never lets anything but one line of text into a header", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", minLength: 1 }), async (token) => {
        const { setback, requests, headers } = await sent({ token });
        if (setback) expect(requests).toEqual([]);
        else expect(headers["x-a2a-notification-token"]).toBe(token.replace(/^[\t ]+|[\t ]+$/g, ""));
      }),
    );
  });

  it.each([200, 201, 202, 204, 299])("arrived with status %d", async (status) => {
    expect(await answered(new Response(null, { status }))).toBeNull();
  });

  it.each([301, 302, 303, 304, 307, 308, 400, 401, 404, 408, 410, 413, 425, 429, 500, 503, 599])(
    "did not arrive with status %d",
    async (status) => {
      const response = new Response(null, { status, headers: { location: "https://b.example.com/" } });
      const reason = `The receiver answered with status ${status}.`;
      expect(await answered(response)).toEqual({ reason, isFinal: false, waitMs: 0 });
    },
  );

  it.each([
    ["7", 7_000],
    ["0", 0],
    ["900", 900_000],
    ["901", 900_000],
    ["999999999", 900_000],
    ["99999999999999999999", 0],
    ["-1", 0],
    ["1.5", 0],
    ["Wed, 21 Oct 2026 07:28:00 GMT", 0],
  ])("heeds Retry-After: %s as %d ms", async (value, waitMs) => {
    const response = new Response(null, { status: 503, headers: { "retry-after": value } });
    expect(await answered(response)).toMatchObject({ waitMs });
  });

  it.each([200, 500])("drops the body of a %d unread", async (status) => {
    const pulled = vi.fn();
    const cancelled = vi.fn();
    const body = new ReadableStream({ pull: pulled, cancel: cancelled }, { highWaterMark: 0 });
    await answered(new Response(body, { status }));
    expect([pulled.mock.calls.length, cancelled.mock.calls.length]).toEqual([0, 1]);
  });

  it("ends when the receiver takes too long, also when the network ignores that", async () => {
    let seen: AbortSignal | null | undefined;
    const post: SafeFetch = (_, init) => {
      seen = init?.signal;
      return new Promise(() => {});
    };
    const setback = deliver(letter, targetOf("a"), post, signal);
    let isOver = false;
    void setback.then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(ATTEMPT_TIMEOUT_MS - 1);
    expect([isOver, seen?.aborted]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(1);
    const reason = "The receiver did not answer within 15 seconds.";
    expect(await setback).toEqual({ reason, isFinal: false, waitMs: 0 });
    expect(seen?.aborted).toBe(true);
  });

  it("drops what comes after that", async () => {
    const late = Promise.withResolvers<Response>();
    const setback = deliver(letter, targetOf("a"), () => late.promise, signal);
    await vi.advanceTimersByTimeAsync(ATTEMPT_TIMEOUT_MS);
    await setback;
    const cancelled = vi.fn();
    late.resolve(new Response(new ReadableStream({ cancel: cancelled })));
    await vi.advanceTimersByTimeAsync(0);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  it("leaves no timer behind", async () => {
    await sent();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells nothing of what the network threw, and what was refused in the words of the refusal", async () => {
    const failing = (error: Error) => deliver(letter, targetOf("a"), () => Promise.reject(error), signal);
    const lost = await failing(new TypeError("connect to https://a.example.com/hook?key=s3cret"));
    expect(lost).toEqual({ reason: "The receiver could not be reached.", isFinal: false, waitMs: 0 });
    const refused = await failing(new ToolError("The URL must be https."));
    expect(refused).toEqual({ reason: "The URL must be https.", isFinal: true, waitMs: 0 });
  });
});

describe("the pause after a failure", () => {
  it("triples from five seconds up to a quarter of an hour", () => {
    const seconds = Array.from({ length: MAX_PUSH_ATTEMPTS - 1 }, (_, n) => pushPause(n + 1, () => 0.5) / 1000);
    expect(seconds).toEqual([5, 15, 45, 135, 405, 900, 900]);
  });

  it("is spread by a quarter to either side, and never longer than that", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
        const middle = Math.min(900_000, 5_000 * 3 ** (failures - 1));
        const pause = pushPause(failures, () => random);
        expect(pause).toBeGreaterThanOrEqual(middle * 0.75);
        expect(pause).toBeLessThanOrEqual(middle * 1.25);
      }),
    );
  });
});
