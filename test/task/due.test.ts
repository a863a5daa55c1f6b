import { describe, expect, it } from "vitest";
import { nextDue, nextWork } from "../../src/task/due";
import type { PushTarget, Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";

const target: PushTarget = {
  id: "p",
  url: "https://a.example/hook",
  token: null,
  authentication: null,
  wire: "a2a/1.0",
  cursor: 0,
  failures: 0,
  retryAt: null,
  dead: [],
};
const then = (task: Task, ...events: readonly TaskEvent[]): Task =>
  events.reduce((now, happened) => transition(now, happened).task, task);
const running = (push: readonly PushTarget[] = [target]): Task =>
  then(createTask(draft({ push })).task, { type: "started", at: 1_100 });
const retrying = (task: Task, retryAt: number): Task =>
  then(task, { type: "push_failed", at: 1_200, id: "p", seq: 2, retryAt, reason: "No answer." });
const heard = (task: Task): Task => then(task, { type: "pushed", at: 1_200, id: "p", seq: task.version });
const END = 101_000;

describe("a task of which somebody is to be told", () => {
  it("needs attention for that, whatever it does itself", () => {
    expect(nextDue(running([]))).toBe(END);
    expect(nextDue(running())).toBe(1_100);
    expect(nextDue(retrying(running(), 60_000))).toBe(60_000);
    expect(nextDue(retrying(running(), 200_000))).toBe(END);
    expect(nextDue(heard(running()))).toBe(END);
  });

  it("needs it after its end too, and then for nothing else", () => {
    const settled = then(running(), { type: "cancelled", at: 1_200, minTtlMs: 0 });
    expect(nextDue(settled)).toBe(1_200);
    expect(nextDue(retrying(settled, 200_000))).toBe(200_000);
    expect(nextDue(heard(settled))).toBeNull();
  });

  it("does not wait until a clock that was set back is where it was", () => {
    expect(nextDue(running(), 900)).toBe(900);
    expect(nextDue(createTask(draft()).task, 900)).toBe(900);
  });
});

it("is no work that the ttl ends", () => {
  expect(nextWork(running([]))).toBeNull();
  expect(nextWork(heard(running()))).toBeNull();
  expect(nextWork(createTask(draft()).task)).toBe(1_000);
});

it("waits for a worker that holds it, and for its lease where that ends first", () => {
  const runs = { in: "queue", queue: "q", maxAttempts: null, output: null } as const;
  const lease = { id: "l", until: 31_000, worker: "w" };
  const claimed = then(createTask(draft({ runs })).task, { type: "claimed", at: 1_100, lease });
  expect(nextDue(claimed)).toBe(31_000);
  expect(nextDue(then(claimed, { type: "renewed", at: 1_200, until: 500_000 }))).toBe(END);
});
