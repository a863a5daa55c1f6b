import { expect, it } from "vitest";
import { toldOf, toSnapshot } from "../../src/service/snapshot";
import type { Task } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { draft } from "../support/task";

const target = { id: "p", url: "https://a.example/", token: "t", authentication: null, wire: "a2a/1.0" };
const push = [{ ...target, cursor: 0, failures: 0, retryAt: null, dead: [] }];
const turns = [{ id: "m", digest: "d", at: 1_100, message: '"Hello."' }];
const open = (): Task => ({
  ...createTask(draft({ arguments: '{"a":1}', prepared: "1", extras: '{"m":1}', push, unprepared: true })).task,
  turns,
});
const done = (): Task =>
  transition(open(), {
    type: "settled",
    at: 2_000,
    outcome: { kind: "result", result: '{"content":[]}', isError: false },
    statusMessage: null,
    minTtlMs: 0,
  }).task;

it("tells a reader the facts of a task, and of what was said nothing", () => {
  expect(Object.keys(toSnapshot(open())).sort()).toEqual(
    [
      "attempts",
      "client",
      "contextId",
      "createdAt",
      "id",
      "lease",
      "namespace",
      "offeredAt",
      "openQuestions",
      "origin",
      "owner",
      "pollIntervalMs",
      "progress",
      "restarts",
      "runs",
      "stage",
      "startedAt",
      "statusAt",
      "statusMessage",
      "tool",
      "ttlMs",
      "updatedAt",
      "version",
    ].sort(),
  );
  expect(toldOf(open())).toEqual(toSnapshot(open()));
});

it("tells what was said, and who is told of it, where that is asked for", () => {
  const { conversation } = toldOf(open(), { conversation: true });
  expect(conversation).toMatchObject({ arguments: '{"a":1}', extras: '{"m":1}', turns, push });
});

it("leaves out what a task came to only where nobody wants it", () => {
  expect(toldOf(done()).stage).toMatchObject({ outcome: { result: '{"content":[]}' } });
  expect(toldOf(done(), { body: false }).stage).toMatchObject({ outcome: { kind: "result", result: "null" } });
  expect(toldOf(done(), { body: false, conversation: true })).toMatchObject({
    stage: { outcome: { result: "null" } },
    conversation: { turns },
  });
});
