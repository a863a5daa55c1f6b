import { describe, expect, it } from "vitest";
import { decideEra, decideStream } from "../../src/mcp/era";

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
  switch (decision.kind) {
    case "modern":
      return decision.revision;
    case "legacy":
      return `legacy ${decision.message.kind}${decision.version === null ? "" : ` ${decision.version}`}`;
    case "legacy_batch":
      return `legacy batch of ${decision.messages.length}`;
    case "accepted":
      return "accepted";
    case "rejected":
      return [decision.error.status, decision.error.code, decision.id];
  }
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
    ["a legacy request", request({}), "2025-11-25", "legacy request 2025-11-25"],
    ["one of an older revision", request({}), "2025-06-18", "legacy request 2025-06-18"],
    ["one of the oldest revision", request({}), "2025-03-26", "legacy request 2025-03-26"],
    ["a legacy request without header", request(), null, "legacy request"],
    ["a method of the other era without a word about itself", request({}, "server/discover"), null, "legacy request"],
    ["garbage for a version (C05)", request({}, "ping"), "1999-13-40", [400, -32600, 7]],
    ["an empty version", request({}, "ping"), "", [400, -32600, 7]],
    ["a version before HTTP", request({}, "ping"), "2024-11-05", [400, -32600, 7]],
    ["initialize", request({ protocolVersion: "2025-11-25" }, "initialize"), null, "legacy request"],
    [
      "initialize of a version to come (C04)",
      request({ protocolVersion: "2027-01-01" }, "initialize"),
      null,
      "legacy request",
    ],
    ["initialize under a version that is unknown", request({}, "initialize"), "1999-13-40", "legacy request"],
    ["initialize with an envelope", request(enveloped("2026-07-28"), "initialize"), "2026-07-28", "2026-07-28"],
    ["a legacy notification", { jsonrpc: "2.0", method: "notifications/initialized" }, null, "legacy notification"],
    [
      "a legacy notification with its header",
      { jsonrpc: "2.0", method: "notifications/initialized" },
      "2025-06-18",
      "legacy notification 2025-06-18",
    ],
    ["a notification under garbage", { jsonrpc: "2.0", method: "x" }, "1999-13-40", [400, -32600, undefined]],
    ["a notification under the modern header", { jsonrpc: "2.0", method: "x" }, "2026-07-28", "accepted"],
    [
      "a notification with an envelope and no header",
      { jsonrpc: "2.0", method: "x", params: enveloped("2026-07-28") },
      null,
      "accepted",
    ],
    [
      "a modern notification",
      { jsonrpc: "2.0", method: "notifications/cancelled", params: enveloped("2026-07-28") },
      "2026-07-28",
      "accepted",
    ],
    ["a response", { jsonrpc: "2.0", id: 99, result: {} }, "2025-11-25", "legacy response 2025-11-25"],
    ["an error without header", { jsonrpc: "2.0", id: 99, error: { code: 1, message: "no" } }, null, "legacy response"],
    [
      "a response under a modern header",
      { jsonrpc: "2.0", id: 99, result: {} },
      "2026-07-28",
      [400, -32600, undefined],
    ],
    ["a batch", [request(enveloped("2026-07-28"))], "2026-07-28", [400, -32600, undefined]],
    ["an empty batch", [], null, [400, -32600, undefined]],
    [
      "a batch of modern requests without header",
      [request({}), request(enveloped("2026-07-28"))],
      null,
      [400, -32600, undefined],
    ],
    ["a batch under a revision that has none (D06)", [request({})], "2025-11-25", [400, -32600, undefined]],
    ["a batch under the one after them", [request({})], "2025-06-18", [400, -32600, undefined]],
    ["a batch under garbage", [request({})], "x", [400, -32600, undefined]],
    ["a batch of the revision that has them", [request({}), 5], "2025-03-26", "legacy batch of 2"],
    ["a batch without header: its session decides", [request({})], null, "legacy batch of 1"],
    ["a null id (D04)", { jsonrpc: "2.0", id: null, method: "tools/list" }, "2025-11-25", [400, -32600, undefined]],
    [
      "a fractional id (D04)",
      { jsonrpc: "2.0", id: 1.5, method: "tools/list" },
      "2025-11-25",
      [400, -32600, undefined],
    ],
    ["an object for an id (D04)", { jsonrpc: "2.0", id: {}, method: "tools/list" }, null, [400, -32600, undefined]],
    ["true for an id (D04)", { jsonrpc: "2.0", id: true, method: "tools/list" }, null, [400, -32600, undefined]],
  ])("%s", (_, body, header, expected) => {
    expect(outcome(body, header)).toEqual(expected);
  });

  it("names what is supported, where a modern version is not", () => {
    const decision = decideEra(request(enveloped("2031-01-01")), null);
    expect(decision.kind === "rejected" && decision.error.extras.data).toEqual({
      supported: ["2026-07-28"],
      requested: "2031-01-01",
    });
  });
});

describe("a GET", () => {
  it.each<[string, string | null, unknown]>([
    ["opens a stream of a session", null, "legacy"],
    ["opens one under any of the older versions", "2025-06-18", "legacy"],
    ["opens none since 2026-07-28", "2026-07-28", [405, -32600]],
    ["opens none under garbage", "1999-13-40", [400, -32600]],
  ])("%s", (_, header, expected) => {
    const decision = decideStream(header);
    expect(decision.kind === "legacy" ? "legacy" : [decision.error.status, decision.error.code]).toEqual(expected);
  });
});
