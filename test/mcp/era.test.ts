import { describe, expect, it } from "vitest";
import { decideEra } from "../../src/mcp/era";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const enveloped = (version: unknown, more: object = { [CAPABILITIES]: {} }) => ({
  _meta: { [VERSION]: version, ...more },
});
const request = (params?: unknown, method = "tools/list") => ({
  jsonrpc: "2.0",
  id: 7,
  method,
  ...(params === undefined ? {} : { params }),
});

const outcome = (body: unknown, header: string | null): unknown => {
  const decision = decideEra(body, header);
  if (decision.kind === "request") return decision.revision;
  return decision.kind === "accepted" ? "accepted" : [decision.error.status, decision.error.code, decision.id];
};

describe("the era of a posted body", () => {
  it.each<[string, unknown, string | null, unknown]>([
    ["whole envelope and its header", request(enveloped("2026-07-28")), "2026-07-28", "2026-07-28"],
    ["blanks round the header", request(enveloped("2026-07-28")), " 2026-07-28\t", "2026-07-28"],
    ["no header: the missing mirror is the revision's to refuse", request(enveloped("2026-07-28")), null, "2026-07-28"],
    ["modern header, no params", request(), "2026-07-28", [400, -32602, 7]],
    ["modern header, no _meta", request({}), "2026-07-28", [400, -32602, 7]],
    [
      "modern header, _meta without a version",
      request({ _meta: { [CAPABILITIES]: {} } }),
      "2026-07-28",
      [400, -32602, 7],
    ],
    ["_meta without capabilities", request(enveloped("2026-07-28", {})), "2026-07-28", [400, -32602, 7]],
    ["_meta without capabilities and no header", request(enveloped("2026-07-28", {})), null, [400, -32602, 7]],
    [
      "capabilities that are a list",
      request(enveloped("2026-07-28", { [CAPABILITIES]: [] })),
      "2026-07-28",
      [400, -32602, 7],
    ],
    ["a version that is no string", request(enveloped(20260728)), "2026-07-28", [400, -32602, 7]],
    ["no envelope under a later header", request({}), "2099-01-01", [400, -32602, 7]],
    ["different versions", request(enveloped("v999.0.0")), "2026-07-28", [400, -32020, 7]],
    ["different versions the other way", request(enveloped("2026-07-28")), "2025-11-25", [400, -32020, 7]],
    ["an unknown version in both places", request(enveloped("v999.0.0")), "v999.0.0", [400, -32022, 7]],
    ["a later version in both places", request(enveloped("2099-01-01")), "2099-01-01", [400, -32022, 7]],
    ["a legacy version in the envelope", request(enveloped("2025-11-25")), "2025-11-25", [400, -32022, 7]],
    ["a legacy request", request({}), "2025-11-25", [400, -32022, 7]],
    ["a legacy request without header", request(), null, [400, -32022, 7]],
    ["a legacy notification", { jsonrpc: "2.0", method: "notifications/initialized" }, null, "accepted"],
    [
      "a modern notification",
      { jsonrpc: "2.0", method: "notifications/cancelled", params: enveloped("2026-07-28") },
      "2026-07-28",
      "accepted",
    ],
    ["a response under a legacy header", { jsonrpc: "2.0", id: 99, result: {} }, "2025-11-25", "accepted"],
    ["a response without header", { jsonrpc: "2.0", id: 99, error: { code: 1, message: "no" } }, null, "accepted"],
    [
      "a response under a modern header",
      { jsonrpc: "2.0", id: 99, result: {} },
      "2026-07-28",
      [400, -32600, undefined],
    ],
    ["a batch", [request(enveloped("2026-07-28"))], "2026-07-28", [400, -32600, undefined]],
    ["an empty batch", [], null, [400, -32600, undefined]],
  ])("%s", (_, body, header, expected) => {
    expect(outcome(body, header)).toEqual(expected);
  });

  it.each<[string, unknown, string | null, string]>([
    ["what initialize wishes for", request({ protocolVersion: "2025-06-18" }, "initialize"), null, "2025-06-18"],
    ["what the header says", request({}), "2025-11-25", "2025-11-25"],
    ["what the envelope says", request(enveloped("2031-01-01")), null, "2031-01-01"],
    ["the oldest HTTP revision when nothing says", request({}), null, "2025-03-26"],
  ])("an unsupported version names what is supported, and %s", (_, body, header, requested) => {
    const decision = decideEra(body, header);
    expect(decision.kind === "rejected" && decision.error.extras.data).toEqual({
      supported: ["2026-07-28"],
      requested,
    });
  });
});
