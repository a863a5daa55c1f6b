import { describe, expect, it } from "vitest";
import { toResult } from "../../../src/mcp/2026-07-28/results";
import {
  toCreateTaskResult,
  toGetTaskResult,
  toGoneNotification,
  toTaskNotification,
} from "../../../src/mcp/2026-07-28/view";
import type { TaskSnapshot } from "../../../src/service/task-store";
import type { Outcome, Stage } from "../../../src/task/task";

const snapshot = (stage: Stage, over: Partial<TaskSnapshot> = {}): TaskSnapshot => ({
  id: "task-1",
  namespace: "tasks",
  owner: null,
  origin: "mcp/2026-07-28",
  tool: "t",
  runs: { in: "object" },
  contextId: null,
  client: { revision: "2026-07-28", capabilities: {}, principal: null },
  createdAt: Date.UTC(2026, 10, 29, 12),
  startedAt: null,
  updatedAt: Date.UTC(2026, 10, 29, 12, 0, 1, 5),
  statusAt: Date.UTC(2026, 10, 29, 12),
  ttlMs: 60_000,
  pollIntervalMs: 1_000,
  statusMessage: null,
  progress: null,
  offeredAt: null,
  lease: null,
  openQuestions: [],
  attempts: 0,
  restarts: 0,
  version: 3,
  stage,
  ...over,
});
const running: Stage = { phase: "working", activity: { kind: "running" } };
const settled = (outcome: Outcome): Stage => ({ phase: "settled", outcome, settledAt: 0 });
const result = (text: string): Stage => settled({ kind: "result", result: text, isError: false });
const get = (task: TaskSnapshot): unknown => JSON.parse(toGetTaskResult(task));

const facts = {
  taskId: "task-1",
  createdAt: "2026-11-29T12:00:00.000Z",
  lastUpdatedAt: "2026-11-29T12:00:01.005Z",
  ttlMs: 60_000,
  pollIntervalMs: 1_000,
};
const _meta = { "io.modelcontextprotocol/serverInfo": { name: "holdfast", version: expect.any(String) } };

describe("a task on this wire (golden)", () => {
  it.each<[string, TaskSnapshot, object]>([
    ["submitted", snapshot({ phase: "submitted" }), { status: "working" }],
    ["running", snapshot(running), { status: "working" }],
    ["sleeping", snapshot({ phase: "working", activity: { kind: "sleeping", until: 9 } }), { status: "working" }],
    [
      "backing off, whose reason outranks old progress",
      snapshot(
        { phase: "working", activity: { kind: "backing_off", until: 9 } },
        { statusMessage: "Attempt 1 of 3: no.", progress: { message: "x" } },
      ),
      { status: "working", statusMessage: "Attempt 1 of 3: no." },
    ],
    [
      "waiting for answers",
      snapshot(
        { phase: "input_required" },
        {
          openQuestions: [
            { key: "__proto__", request: { method: "roots/list", params: {} } },
            { key: "b", request: { method: "elicitation/create", params: { message: "?" } } },
          ],
        },
      ),
      {
        status: "input_required",
        inputRequests: Object.fromEntries([
          ["__proto__", { method: "roots/list", params: {} }],
          ["b", { method: "elicitation/create", params: { message: "?" } }],
        ]),
      },
    ],
    [
      "with a result",
      snapshot(result('{"content":[]}')),
      { status: "completed", result: { resultType: "complete", content: [] } },
    ],
    [
      "with a tool error",
      snapshot(settled({ kind: "result", result: '{"content":[],"isError":true}', isError: true }), {
        statusMessage: "No.",
      }),
      { status: "completed", statusMessage: "No.", result: { resultType: "complete", content: [], isError: true } },
    ],
    [
      "with an error",
      snapshot(settled({ kind: "error", error: { code: 5, message: "No.", data: '{"a":[1,"\\ud800"]}' } })),
      { status: "failed", statusMessage: "No.", error: { code: 5, message: "No.", data: { a: [1, "\ud800"] } } },
    ],
    [
      "with an error whose message says more",
      snapshot(settled({ kind: "error", error: { code: 5, message: "No." } }), {
        statusMessage: "After 3 attempts: No.",
      }),
      { status: "failed", statusMessage: "After 3 attempts: No.", error: { code: 5, message: "No." } },
    ],
    [
      "rejected",
      snapshot(settled({ kind: "rejected", reason: "Not allowed." })),
      { status: "failed", statusMessage: "Not allowed.", error: { code: -32603, message: "Not allowed." } },
    ],
    [
      "cancelled",
      snapshot(settled({ kind: "cancelled" }), { statusMessage: "The task was cancelled." }),
      { status: "cancelled", statusMessage: "The task was cancelled." },
    ],
    [
      "expired",
      snapshot(settled({ kind: "expired" })),
      {
        status: "failed",
        statusMessage: "No such task, or it has expired.",
        error: { code: -32602, message: "No such task, or it has expired." },
      },
    ],
  ])("%s", (_, task, expected) => {
    expect(get(task)).toEqual({ resultType: "complete", ...facts, ...expected, _meta });
    expect(JSON.parse(toTaskNotification(task, 7))).toEqual({
      ...facts,
      ...expected,
      _meta: { "io.modelcontextprotocol/subscriptionId": 7 },
    });
    const { status, statusMessage } = expected as { status: string; statusMessage?: string };
    const handle = {
      resultType: "task",
      ...facts,
      status,
      ...(statusMessage === undefined ? {} : { statusMessage }),
      _meta,
    };
    expect(JSON.parse(toCreateTaskResult(task))).toEqual(handle);
  });

  it("has whole milliseconds, an interval that lets clients breathe, and null for no ttl", () => {
    expect(get(snapshot(running, { ttlMs: 60_000.4, pollIntervalMs: 300.6 }))).toMatchObject({
      ttlMs: 60_000,
      pollIntervalMs: 301,
    });
    expect(get(snapshot(running, { ttlMs: null, pollIntervalMs: 0 }))).toMatchObject({
      ttlMs: null,
      pollIntervalMs: 250,
    });
  });

  it("tells an expiry once more to who was listening", () => {
    const task = snapshot(running);
    expect(JSON.parse(toGoneNotification(task, "s", task.updatedAt + 10))).toEqual({
      ...facts,
      status: "failed",
      statusMessage: "No such task, or it has expired.",
      lastUpdatedAt: "2026-11-29T12:00:01.015Z",
      error: { code: -32602, message: "No such task, or it has expired." },
      _meta: { "io.modelcontextprotocol/subscriptionId": "s" },
    });
    expect(JSON.parse(toGoneNotification(task, "s", 0)).lastUpdatedAt).toBe(facts.lastUpdatedAt);
  });
});

describe("progress as a status message", () => {
  it.each<[TaskSnapshot["progress"], string | undefined]>([
    [{ message: "Fetched 3 of 10 pieces", progress: 3, total: 10 }, "Fetched 3 of 10 pieces (30%)"],
    [{ message: "Fetching", progress: 3 }, "Fetching"],
    [{ progress: 2, total: 3 }, "66%"],
    [{ progress: 5, total: 3 }, "100%"],
    [{ progress: 5, total: 0 }, "Progress: 5"],
    [{ progress: 0 }, "Progress: 0"],
    [{}, undefined],
  ])("%j reads %j", (progress, text) => {
    expect((get(snapshot(running, { progress })) as { statusMessage?: string }).statusMessage).toBe(text);
  });

  it("is not shown any more once the task has settled", () => {
    expect(get(snapshot(result('{"content":[]}'), { progress: { progress: 1, total: 2 } }))).not.toHaveProperty(
      "statusMessage",
    );
  });
});

describe("a stored result", () => {
  it("goes out as it is, byte for byte", () => {
    const stored = JSON.stringify({
      content: [{ type: "text", text: "\u2028\0\r\n😀\ud800" }],
      structuredContent: JSON.parse('{"__proto__":{"a":1e21}}'),
    });
    expect(toGetTaskResult(snapshot(result(stored)))).toContain(stored.slice(1));
  });

  it.each([
    '{"content":[],"resultType":"input_required"}',
    '{"resultType":"input_required","content":[]}',
    ' {"content":[]}',
  ])("%s is complete all the same", (stored) => {
    expect(get(snapshot(result(stored)))).toMatchObject({ result: { resultType: "complete", content: [] } });
  });

  it("may speak of resultType in its text", () => {
    const stored = JSON.stringify({
      content: [{ type: "text", text: '{"resultType":"x"}' }],
      structuredContent: { resultType: "y" },
    });
    expect(get(snapshot(result(stored)))).toMatchObject({
      result: { resultType: "complete", structuredContent: { resultType: "y" } },
    });
  });
});

describe("a result", () => {
  it("has the type that the method gives it, whatever the fields say, and keeps their _meta", () => {
    expect(JSON.parse(toResult("complete", { resultType: "task", a: 1, _meta: { "x/y": 1 } }))).toEqual({
      resultType: "complete",
      a: 1,
      _meta: { "x/y": 1, ..._meta },
    });
  });
});
