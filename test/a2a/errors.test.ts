import { describe, expect, it } from "vitest";
import { A2aError, explainThrown, restErrorText, rpcErrorText, type Fault } from "../../src/a2a/errors";
import { markAudited } from "../../src/service/audit";
import { notFound, TaskError, type TaskErrorCode } from "../../src/task/errors";

const explained = (fault: Fault | TaskErrorCode) => explainThrown(new A2aError(fault, "No."), undefined);

describe("an error of the protocol", () => {
  // A2A 1.0.1 §5.4.
  it.each<[Fault | TaskErrorCode, number, number, string, string]>([
    ["not_found", -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"],
    ["not_cancelable", -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"],
    ["push_not_supported", -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["unsupported", -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"],
    ["content_type", -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"],
    ["version_not_supported", -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"],
    ["conflict", 40900, 409, "ABORTED", "CONFLICT"],
    ["limit_reached", 42900, 429, "RESOURCE_EXHAUSTED", "LIMIT_REACHED"],
    ["rate_limited", 42901, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED"],
    ["too_large", 41300, 413, "OUT_OF_RANGE", "TOO_LARGE"],
    ["overloaded", -32603, 503, "UNAVAILABLE", "OVERLOADED"],
    ["misconfigured", -32603, 500, "INTERNAL", "MISCONFIGURED"],
  ])("%s is %d, and %d %s over HTTP", (fault, code, status, rpcStatus, reason) => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" }];
    expect(JSON.parse(rpcErrorText(explained(fault), 7))).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code, message: "No.", data: details },
    });
    expect(JSON.parse(restErrorText(explained(fault)))).toEqual({
      error: { code: status, status: rpcStatus, message: "No.", details },
    });
  });

  it("that the inside calls by another name reads the same", () => {
    for (const code of ["settled", "capability_missing", "task_required"] as const) {
      expect(explained(code)).toEqual(explained("unsupported"));
    }
  });

  it("carries its facts, and the time to wait in a header too", () => {
    const thrown = new TaskError("limit_reached", "Full.", { limit: "MAX_X", value: 5, retryAfterMs: 1 });
    const { details, headers } = explainThrown(thrown, undefined);
    expect(details[0]).toMatchObject({ metadata: { limit: "MAX_X", value: "5", retryAfterMs: "1" } });
    expect(headers).toEqual({ "Retry-After": "1" });
  });

  it("does not say what capabilities MCP would ask for", () => {
    const thrown = new TaskError("capability_missing", "No.", { requiredCapabilities: { sampling: {} } });
    expect(JSON.stringify(explainThrown(thrown, undefined))).not.toContain("sampling");
  });

  it("of params names the fields", () => {
    const violations = [{ field: "message.role", description: 'must be "ROLE_USER"' }];
    const { details } = explainThrown(new A2aError("invalid", "No.", { violations }), undefined);
    expect(details[1]).toEqual({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: violations,
    });
  });
});

describe("the log", () => {
  const ann = { kind: "identified", issuer: "i", subject: "ann", scopes: ["client"], expiresAt: null } as const;
  const linesOf = (thrown: unknown): object[] => {
    const lines: object[] = [];
    explainThrown(thrown, (line) => lines.push(line), ann);
    return lines;
  };

  it("has a line for a refusal, unless the service wrote it", () => {
    expect(linesOf(notFound())).toEqual([
      { audit: "refuse", principal: '["i","ann"]', code: "task_not_found", status: 404 },
    ]);
    const told = notFound();
    markAudited(told);
    expect(linesOf(told)).toEqual([]);
  });

  it.each([[new Error("a secret")], ["a secret"], [new TaskError("misconfigured", "a secret")]])(
    "has what the caller is not told",
    (thrown) => {
      expect(linesOf(thrown)).toMatchObject([{ level: "error", error: expect.stringContaining("a secret") }]);
      if (!(thrown instanceof TaskError)) {
        expect(JSON.stringify(explainThrown(thrown, undefined))).not.toContain("secret");
      }
    },
  );
});
