import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { slowAnswer } from "../src/slow-answer";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Work that comes to what the test says, when it says so. */
function work() {
  let resolve = (_: Response): void => {};
  let reject = (_: Error): void => {};
  const outcome = new Promise<Response>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  const signals: AbortSignal[] = [];
  const late: unknown[] = [];
  const leaving = new AbortController();
  const answer = slowAnswer(
    (signal) => {
      signals.push(signal);
      return outcome;
    },
    { signal: leaving.signal, onLate: (thrown) => void late.push(thrown) },
  );
  return { answer, resolve, reject, late, leaving, left: () => signals[0]?.aborted };
}

describe("slowAnswer", () => {
  it("is the answer itself, whatever its status, while that is quick", async () => {
    const { answer, resolve } = work();
    resolve(new Response("{}", { status: 409 }));
    expect((await answer).status).toBe(409);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("throws what is thrown while that is quick", async () => {
    const { answer, reject, late } = work();
    reject(new Error("no"));
    await expect(answer).rejects.toThrow("no");
    expect([vi.getTimerCount(), late]).toEqual([0, []]);
  });

  it("begins after a moment, beats with space, and ends with the answer", async () => {
    const { answer, resolve } = work();
    await vi.advanceTimersByTimeAsync(250);
    const response = await answer;
    const text = response.text();
    await vi.advanceTimersByTimeAsync(3_000);
    resolve(new Response('{"a":1}'));
    expect(await text).toBe('\n\n\n\n{"a":1}');
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, (of: ReturnType<typeof work>) => void]>([
    ["a failure", ({ reject }) => reject(new Error("no"))],
    ["another status", ({ resolve }) => resolve(new Response("{}", { status: 404 }))],
  ])("breaks off at %s that comes late", async (_, happen) => {
    const of = work();
    await vi.advanceTimersByTimeAsync(250);
    const text = (await of.answer).text();
    happen(of);
    await expect(text).rejects.toThrow();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells of a late failure", async () => {
    const { answer, reject, late } = work();
    await vi.advanceTimersByTimeAsync(250);
    const text = (await answer).text();
    const failure = new Error("no");
    reject(failure);
    await expect(text).rejects.toThrow();
    expect(late).toEqual([failure]);
  });

  it("has the work stop when the client leaves, before the answer has begun or after", async () => {
    const early = work();
    early.leaving.abort();
    expect(early.left()).toBe(true);
    early.resolve(new Response("{}"));
    await early.answer;

    const later = work();
    await vi.advanceTimersByTimeAsync(250);
    const response = await later.answer;
    await response.body?.cancel();
    expect([later.left(), vi.getTimerCount()]).toEqual([true, 0]);
    later.reject(new Error("stopped"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(later.late).toEqual([]);
  });
});
