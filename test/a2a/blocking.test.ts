import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { INPUT_REQUESTS_URI } from "../../src/a2a/extensions";
import { TaskError } from "../../src/task/errors";
import { message, oldMessage, openDoor, taskOf, type Wire } from "./a2a-door";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A send that comes to what the test says, when it says so. `taken`: by then it is only waited for. */
function slowSend({ taken = true } = {}) {
  let resolve = (_: Wire): void => {};
  let reject = (_: unknown): void => {};
  const outcome = new Promise((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  const door = openDoor({
    sendMessage(_, { onWait }) {
      if (taken) onWait?.();
      return outcome;
    },
  });
  const rpc = () => door.rpc({ jsonrpc: "2.0", id: 7, method: "SendMessage", params: { message: message() } });
  const old = () =>
    door.rpc(
      { jsonrpc: "2.0", id: 7, method: "SendMessage", params: { message: oldMessage() } },
      { "A2A-Version": null },
    );
  const rest = () =>
    door.request("/a2a/message:send", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: message() }),
    });
  return { door, resolve, reject, ways: { rpc, old, rest } };
}

/** Lets what is quick happen, and less than a second pass. */
const soon = () => vi.advanceTimersByTimeAsync(900);

describe("a send that takes long", () => {
  it.each(["rpc", "old", "rest"] as const)(
    "has headers at once, then space, then the answer: %s (P01)",
    async (way) => {
      const { resolve, ways } = slowSend();
      const answer = ways[way]();
      await soon();
      const response = await answer;
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(way === "rest" ? "application/a2a+json" : "application/json");
      expect(response.headers.get("x-accel-buffering")).toBe("no");
      const text = response.text();
      await vi.advanceTimersByTimeAsync(10_000);
      resolve(taskOf("t1"));
      const [, space, body] = /^(\s+)(.*)$/s.exec(await text) ?? [];
      expect(space?.length).toBeGreaterThanOrEqual(10);
      const { rpc, old, rest } = {
        rpc: { result: { task: { id: "t1" } } },
        old: { result: { id: "t1" } },
        rest: { task: {} },
      };
      expect(JSON.parse(body ?? "")).toMatchObject({ rpc, old, rest }[way]);
    },
  );

  it("says at once which extension it speaks", async () => {
    const { door, resolve } = slowSend();
    const params = { message: message() };
    const answer = door.rpc(
      { jsonrpc: "2.0", id: 7, method: "SendMessage", params },
      { "A2A-Extensions": INPUT_REQUESTS_URI },
    );
    await soon();
    expect((await answer).headers.get("A2A-Extensions")).toBe(INPUT_REQUESTS_URI);
    resolve(taskOf("t1"));
  });

  it("ends in its error, which travels on 200", async () => {
    const { reject, ways } = slowSend();
    const answer = ways.rpc();
    await soon();
    const text = (await answer).text();
    reject(new TaskError("overloaded", "Later."));
    expect(JSON.parse(await text)).toMatchObject({ id: 7, error: { code: -32603, message: "Later." } });
  });

  it("has the status of its error while the message is not taken yet, however long that takes", async () => {
    const { reject, ways } = slowSend({ taken: false });
    const answer = ways.rest();
    await soon();
    reject(new TaskError("limit_reached", "Too many."));
    const response = await answer;
    expect([response.status, await response.json()]).toMatchObject([429, { error: { code: 429 } }]);
  });

  it("is broken off by an error where the status is out, which the log tells once", async () => {
    const { door, reject, ways } = slowSend();
    const answer = ways.rest();
    await soon();
    const text = (await answer).text();
    reject(new Error("a secret detail"));
    await expect(text).rejects.toThrow("The answer was broken off.");
    expect(door.log).toMatchObject([{ level: "error", error: expect.stringContaining("a secret detail") }]);
  });

  it.each(["rpc", "rest"] as const)("tells the handler when its client leaves: %s", async (way) => {
    const { door, ways, reject } = slowSend();
    const answer = ways[way]();
    await soon();
    await (await answer).body?.cancel();
    const signal = door.handled[0]?.caller.signal;
    expect(signal?.aborted).toBe(true);
    reject(signal?.reason);
    await soon();
    expect([door.log, vi.getTimerCount()]).toEqual([[], 0]);
  });

  it("is answered as it is while that is quick", async () => {
    const { resolve, ways } = slowSend();
    const answer = ways.rest();
    resolve(taskOf("t1"));
    const response = await answer;
    expect(await response.text()).toMatch(/^\{"task":/);
    expect(vi.getTimerCount()).toBe(0);
  });
});
