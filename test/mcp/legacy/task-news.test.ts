import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tellTasks } from "../../../src/mcp/legacy/task-news";
import { createSealer } from "../../../src/seal";
import type { SettleOptions } from "../../../src/service/task-requests";
import type { Wire } from "../../support/mcp";

const MINUTE = 60_000;
const request = { method: "elicitation/create", params: { mode: "form", message: "?", requestedSchema: {} } };
const questions = [{ key: "k", request }] as Wire;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream of session `s` on tasks that are only claimed to be there. */
function listening() {
  const tasks = new Map<string, Wire>();
  const follows: { readonly id: string; readonly options: SettleOptions; fail(error: Error): void }[] = [];
  const asked: string[] = [];
  const ending = new AbortController();
  let wake = (): void => {};
  const changed: Wire[] = [];
  const caller: Wire = {
    principal: { kind: "identified", issuer: "i", subject: "s" },
    session: { key: "s", expiresAt: Infinity, version: "v", capabilities: { elicitation: {} } },
    revision: { toInputParams: ({ params }: Wire) => params },
    deps: {
      clock: Date.now,
      sealer: createSealer(async () => "a secret for tests, thirty-two bytes", Date.now),
      tasks: {
        peek: async (_: unknown, id: string) => tasks.get(id) ?? null,
        list: async () => ({ rows: [], more: false }),
        settle: (_: unknown, id: string, options: SettleOptions) =>
          new Promise((__, reject) => {
            options.signal.addEventListener("abort", () => reject(options.signal.reason as Error), { once: true });
            follows.push({ id, options, fail: reject });
          }),
        async *changes() {
          for (; !ending.signal.aborted; await new Promise<void>((resolve) => (wake = resolve)))
            for (const change of changed.splice(0)) yield change;
        },
      },
    },
  };
  const exchange: Wire = { request: async (id: string) => asked.push(id), notify: async () => {} };
  void tellTasks(caller, exchange, { tell: async () => {} }, ending.signal);
  return {
    follows,
    asked,
    open: () => follows.filter(({ options }) => !options.signal.aborted).map(({ id }) => id),
    async move(id: string, phase: string, client: object = {}) {
      const openQuestions = phase === "input_required" ? questions : [];
      const facts = { session: { key: "s" }, ...client };
      tasks.set(id, { id, client: facts, stage: { phase }, openQuestions, createdAt: 0, pollIntervalMs: 20 });
      changed.push({ kind: "change", id, phase });
      wake();
      await vi.advanceTimersByTimeAsync(1_000);
      return tasks.get(id);
    },
    end: () => ending.abort(),
  };
}

describe("a stream that follows as many tasks as it may", () => {
  it("puts one that asks in the place of one that only reports", async () => {
    const stream = listening();
    for (let n = 0; n < 101; n += 1) await stream.move(`t${n}`, "working", { progressToken: n });
    expect(stream.open()).toHaveLength(100);
    expect(stream.open()).not.toContain("t100");
    await stream.move("t100", "input_required", { progressToken: 100 });
    expect(stream.open()).toHaveLength(100);
    expect(stream.open()).toContain("t100");
    stream.end();
  });

  it("has those that ask wait for a place", async () => {
    const stream = listening();
    for (let n = 0; n < 102; n += 1) await stream.move(`t${n}`, "input_required");
    expect(stream.open()).toHaveLength(100);
    stream.follows[0]?.options.onEvent?.({ phase: "working" } as Wire);
    await vi.advanceTimersByTimeAsync(0);
    expect(stream.open()).toHaveLength(100);
    expect(stream.open()).toContain("t100");
    stream.follows[1]?.fail(new Error("no such task any more"));
    await vi.advanceTimersByTimeAsync(0);
    expect(stream.open().filter((id) => id === "t101")).toHaveLength(1);
    stream.end();
  });

  it("tries a task again whose connection failed", async () => {
    const stream = listening();
    await stream.move("t", "input_required");
    stream.follows[0]?.fail(new Error("The object is gone."));
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(stream.follows).toHaveLength(2);
    stream.end();
  });
});

describe("a question for a session that did not make the task", () => {
  const others = { session: { key: "another" } };

  it("is that session's for a while from when it is asked, then anybody's, and later asked again", async () => {
    const stream = listening();
    await stream.move("t", "input_required", others);
    const [first] = stream.follows;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(first?.options.signal.aborted).toBe(false);
    first?.options.onDeliver?.([]);
    first?.options.onDeliver?.(questions);
    await vi.advanceTimersByTimeAsync(MINUTE - 1);
    expect(first?.options.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(first?.options.signal.aborted).toBe(true);
    expect(stream.follows).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(stream.follows).toHaveLength(2);
    stream.end();
  });

  it("is left alone where it was answered meanwhile", async () => {
    const stream = listening();
    await stream.move("t", "input_required", others);
    stream.follows[0]?.options.onDeliver?.(questions);
    await vi.advanceTimersByTimeAsync(MINUTE);
    await stream.move("t", "working", others);
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(stream.follows).toHaveLength(1);
    stream.end();
  });
});
