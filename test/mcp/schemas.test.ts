import { describe, expect, it } from "vitest";
import type * as z from "zod/mini";
import { CallToolParams as AugmentedCallToolParams, TaskParams } from "../../src/mcp/2025-11-25/schemas";
import { ListenParams } from "../../src/mcp/2026-07-28/schemas";
import { CallToolParams, InitializeParams, ListParams, SetLevelParams } from "../../src/mcp/legacy/schemas";
import { readParams } from "../../src/mcp/schemas";
import type { JsonObject } from "../../src/task/json";

describe("what is wrong with the params of a request", () => {
  // zod's small form says "Invalid input" of whatever has no message of ours.
  it.each<[z.ZodMiniType, JsonObject, string]>([
    [CallToolParams, {}, "params.name must be a string."],
    [CallToolParams, { name: "x", arguments: [] }, "params.arguments must be an object."],
    [CallToolParams, { name: "x", _meta: 5 }, "params._meta must be an object."],
    [
      CallToolParams,
      { name: "x", _meta: { progressToken: 0.5 } },
      "params._meta.progressToken must be a string or an integer.",
    ],
    [
      CallToolParams,
      { name: "x", _meta: { "dev.holdfast/idempotencyKey": 1 } },
      'params._meta["dev.holdfast/idempotencyKey"] must be a string.',
    ],
    [InitializeParams, { capabilities: {} }, "params.protocolVersion must be a string."],
    [InitializeParams, { protocolVersion: "x" }, "params.capabilities must be an object."],
    [ListParams, { cursor: 1 }, "params.cursor must be a string."],
    [
      SetLevelParams,
      { level: "loud" },
      "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency.",
    ],
    [AugmentedCallToolParams, { name: "x", task: true }, "params.task must be an object."],
    [AugmentedCallToolParams, { name: "x", task: { ttl: "1" } }, "params.task.ttl must be a number of ms."],
    [AugmentedCallToolParams, { name: "x", task: { ttl: -1 } }, "params.task.ttl must not be negative."],
    [AugmentedCallToolParams, { name: "x", task: { ttl: 1e300 } }, "params.task.ttl is too long."],
    [TaskParams, { taskId: null }, "params.taskId must be a string."],
    [ListenParams, { _meta: {} }, "params.notifications must be an object."],
    [
      ListenParams,
      { _meta: {}, notifications: { toolsListChanged: 1 } },
      "params.notifications.toolsListChanged must be true or false.",
    ],
    [
      ListenParams,
      { _meta: {}, notifications: { taskIds: "x" } },
      "params.notifications.taskIds must be a list of task ids.",
    ],
    [ListenParams, { _meta: {}, notifications: { taskIds: [1] } }, "params.notifications.taskIds[0] must be a string."],
  ])("%#: is said in words of our own", (schema, params, message) => {
    expect(() => readParams({ params, unsafeNumbers: false }, schema)).toThrow(message);
  });
});
