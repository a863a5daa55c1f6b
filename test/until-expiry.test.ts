import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Principal } from "../src/service/principal";
import { untilExpiry } from "../src/until-expiry";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const until = (expiresAt: number | null): Principal => ({
  kind: "identified",
  issuer: "https://login.example",
  subject: "ann",
  scopes: ["client"],
  expiresAt,
});

/** A stream without an end, and whether anybody still listens. */
function stream(type = "text/event-stream; charset=utf-8") {
  let cancelled = false;
  let say = (_: string): void => {};
  let end = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      say = (text) => controller.enqueue(new TextEncoder().encode(text));
      end = () => controller.close();
    },
    cancel: () => void (cancelled = true),
  });
  const response = new Response(body, { status: 200, headers: { "Content-Type": type, "X-Kept": "yes" } });
  return { response, say: (text: string) => say(text), end: () => end(), cancelled: () => cancelled };
}

describe("untilExpiry", () => {
  it("ends a stream when its credential does, and has the source stop", async () => {
    const { response, say, cancelled } = stream();
    const limited = untilExpiry(response, until(Date.now() + 60_000), Date.now);
    expect([limited.status, limited.headers.get("x-kept")]).toEqual([200, "yes"]);
    say("one");
    const text = limited.text();
    await vi.advanceTimersByTimeAsync(59_000);
    say(" two");
    expect(cancelled()).toBe(false);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await text).toBe("one two");
    expect(cancelled()).toBe(true);
  });

  it("ends it at once when the credential is past its time", async () => {
    const { response } = stream();
    const text = untilExpiry(response, until(Date.now() - 60_000), Date.now).text();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await text).toBe("");
  });

  it("keeps to the stream's own end, and leaves no timer behind", async () => {
    const { response, say, end } = stream();
    const limited = untilExpiry(response, until(Date.now() + 60_000), Date.now);
    say("all");
    end();
    expect(await limited.text()).toBe("all");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("passes a failure of the source on, and nothing fails later", async () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new Error("gone")) });
    const response = new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    await expect(untilExpiry(response, until(Date.now() + 60_000), Date.now).text()).rejects.toThrow("gone");
    await vi.advanceTimersByTimeAsync(62_000);
  });

  it("tells the source when the client leaves", async () => {
    const { response, cancelled } = stream();
    const limited = untilExpiry(response, until(Date.now() + 60_000), Date.now);
    await limited.body?.cancel();
    expect([cancelled(), vi.getTimerCount()]).toEqual([true, 0]);
  });

  it("bears a credential that lasts for ages", async () => {
    const { response, say, end } = stream();
    const limited = untilExpiry(response, until(Date.now() + 1e300), Date.now);
    await vi.advanceTimersByTimeAsync(86_400_000);
    say("still");
    end();
    expect(await limited.text()).toBe("still");
  });

  it("leaves alone what is no stream, or whose credential does not expire", () => {
    const json = Response.json({});
    expect(untilExpiry(json, until(1), Date.now)).toBe(json);
    const { response } = stream();
    expect(untilExpiry(response, until(null), Date.now)).toBe(response);
    expect(untilExpiry(response, { kind: "anonymous" }, Date.now)).toBe(response);
  });
});
