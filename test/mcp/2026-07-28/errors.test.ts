import { describe, expect, it } from "vitest";
import { toJsonRpcError } from "../../../src/mcp/2026-07-28/errors";
import { TaskError, type TaskErrorCode } from "../../../src/task/errors";

describe("the table of errors (design decision 12)", () => {
  it.each<[TaskErrorCode, number, number]>([
    ["not_found", 200, -32602],
    ["invalid", 200, -32602],
    ["unknown_tool", 200, -32602],
    ["capability_missing", 400, -32021],
    ["task_required", 400, -32021],
    ["settled", 200, -32602],
    ["conflict", 200, 40900],
    ["limit_reached", 200, 42900],
    ["rate_limited", 429, 42901],
    ["too_large", 413, 41300],
    ["overloaded", 503, -32603],
    ["misconfigured", 500, -32603],
    ["internal", 500, -32603],
  ])("%s is HTTP %i and %i", (code, status, number) => {
    expect(toJsonRpcError(new TaskError(code, "A sentence."))).toMatchObject({
      status,
      code: number,
      message: "A sentence.",
    });
  });

  it("says what a limit is, and when to come again", () => {
    const limited = toJsonRpcError(
      new TaskError("limit_reached", "Full.", { limit: "MAX_X", value: 3, retryAfterMs: 1_500 }),
    );
    expect(limited.extras).toEqual({ data: { limit: "MAX_X", value: 3, retryAfterMs: 1_500 } });
  });

  it.each<TaskErrorCode>(["rate_limited", "overloaded"])("sends Retry-After in whole seconds with %s", (code) => {
    expect(toJsonRpcError(new TaskError(code, "Later.", { retryAfterMs: 1_001 })).extras.headers).toEqual({
      "Retry-After": "2",
    });
    expect(toJsonRpcError(new TaskError(code, "Later.", { retryAfterMs: 1 })).extras.headers).toEqual({
      "Retry-After": "1",
    });
    expect(toJsonRpcError(new TaskError(code, "Later.")).extras.headers).toBeUndefined();
  });

  it("always says which capabilities are required, as an object", () => {
    const requiredCapabilities = { sampling: {} };
    expect(toJsonRpcError(new TaskError("capability_missing", "No.", { requiredCapabilities })).extras.data).toEqual({
      requiredCapabilities,
    });
    expect(toJsonRpcError(new TaskError("capability_missing", "No.")).extras.data).toEqual({
      requiredCapabilities: {},
    });
  });
});
