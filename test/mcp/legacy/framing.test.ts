import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { connect, isStream, type LegacyClient } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

let runs = 0;
const count = defineTool({
  name: "count",
  description: "Counts its runs.",
  input: z.object({}),
  task: "forbidden",
  run: () => `run ${(runs += 1)}`,
});

describe("Accept (D01)", () => {
  it.each<[string, string | null]>([
    ["anything", "*/*"],
    ["nothing said", null],
    ["a stream alone", "text/event-stream"],
    ["JSON alone", "application/json"],
    ["the other order", "text/event-stream, application/json"],
    ["weights", "application/json;q=0.9, text/event-stream;q=0.1"],
  ])("serves %s in a type it allows", async (_, accept) => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("ping", {}, { headers: { Accept: accept } });
    expect(response.status).toBe(200);
    expect(isStream(response)).toBe(accept === "text/event-stream");
  });

  it("streams nothing to a client that refuses streams", async () => {
    const client = await connect(await serve(fixtureTools));
    const headers = { Accept: "application/json, text/event-stream;q=0" };
    for (const [name, args] of [
      ["slow", { ms: 400 }],
      ["test_tool_with_logging", {}],
    ] as const) {
      const params = { name, arguments: args, _meta: { progressToken: 1 } };
      const response = await client.send("tools/call", params, { headers });
      expect(isStream(response)).toBe(false);
      expect(((await response.json()) as Wire).result.content).toHaveLength(1);
    }
  });

  it.each(["application/jsonx, text/event-streamy", "text/html"])("refuses %s with 406", async (accept) => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.send("ping", {}, { headers: { Accept: accept } })).status).toBe(406);
  });

  it.each<[string | null, number]>([
    ["text/event-stream", 200],
    ["*/*", 200],
    [null, 200],
    ["application/json", 406],
    ["text/html", 406],
  ])("of %s on GET is %i", async (accept, status) => {
    const response = await (await connect(await serve(fixtureTools))).get({ Accept: accept });
    expect(response.status).toBe(status);
    await response.body?.cancel();
  });
});

describe("Content-Type (D02)", () => {
  it.each<[string, number]>([
    ["Application/JSON; charset=UTF-8", 200],
    ["application/json", 200],
    ["text/plain", 415],
    ["text/plain; x=application/json", 415],
  ])("%s is %i", async (type, status) => {
    const client = await connect(await serve([count]));
    const before = runs;
    const headers = { "Content-Type": type };
    const response = await client.send("tools/call", { name: "count" }, { headers });
    expect(response.status).toBe(status);
    expect(runs - before).toBe(status === 200 ? 1 : 0);
  });
});

describe("a batch", () => {
  const calls = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "count" } }));

  it.each(["2025-11-25", "2025-06-18"])("(D06) is 400 in a session of %s, and nothing runs", async (version) => {
    const client = await connect(await serve([count]), { version });
    const before = runs;
    for (const headers of [{}, { "MCP-Protocol-Version": null }]) {
      const response = await client.post(calls, { headers });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    }
    expect((await client.post([])).status).toBe(400);
    expect(runs).toBe(before);
  });

  it("(D06) is answered with a list in a session of 2025-03-26", async () => {
    const client = await connect(await serve([count]), { version: "2025-03-26" });
    const response = await client.post([
      ...calls,
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 3, method: "nope" },
      { jsonrpc: "2.0", id: 4, method: 5 },
      { jsonrpc: "2.0", id: "x", method: "ping" },
      { jsonrpc: "2.0", id: 99, result: {} },
      7,
      { jsonrpc: "2.0", id: 6, method: "initialize", params: { protocolVersion: "2025-03-26", capabilities: {} } },
    ]);
    expect(response.status).toBe(200);
    const answers = (await response.json()) as Wire[];
    expect(answers.map(({ id, result, error }) => [id, error?.code ?? Object.keys(result)])).toEqual([
      [1, ["content"]],
      [2, ["content"]],
      [3, -32601],
      [4, -32600],
      ["x", []],
      [undefined, -32600],
      // Not part of a batch, and a session is begun already.
      [6, -32601],
    ]);
  });

  it("is answered with 202 where it asks nothing", async () => {
    const client = await connect(await serve([count]), { version: "2025-03-26" });
    const response = await client.post([{ jsonrpc: "2.0", method: "notifications/initialized" }]);
    expect([response.status, await response.text()]).toEqual([202, ""]);
  });

  it("waits for what is slow on a stream, whose last message is the list", async () => {
    const client = await connect(await serve(fixtureTools), { version: "2025-03-26" });
    const slow = { name: "slow", arguments: { ms: 400 }, _meta: { progressToken: "p" } };
    const told = { name: "test_tool_with_progress", _meta: { progressToken: "q" } };
    const body = [
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: slow },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: told },
    ];
    const response = await client.post(body);
    expect(isStream(response)).toBe(true);
    const messages = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    const last = JSON.parse(messages.at(-1)?.slice(6) ?? "") as Wire[];
    expect(last.map(({ id }) => id)).toEqual([1, 2]);
    expect(messages.length).toBeGreaterThan(3);
  });

  it("is refused where it is a burden, or without a session", async () => {
    const client = await connect(await serve([count]), { version: "2025-03-26" });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await client.post(Array.from({ length: 101 }, () => ping))).status).toBe(400);
    expect((await client.post([ping], { headers: { "Mcp-Session-Id": null } })).status).toBe(400);
    expect((await client.post([ping], { headers: { "Mcp-Session-Id": "dead" } })).status).toBe(404);
  });
});

describe("Origin", () => {
  it("(1.13) that is foreign is 403 on POST and GET", async () => {
    const client = await connect(await serve(fixtureTools));
    const foreign = { Origin: "https://evil.example" };
    expect((await client.send("ping", {}, { headers: foreign })).status).toBe(403);
    expect((await client.get(foreign)).status).toBe(403);
  });
});

it("(1.13) takes requests of all revisions side by side on one endpoint", async () => {
  const served = await serve([count]);
  const [a, b, c] = await Promise.all(
    ["2025-11-25", "2025-06-18", "2025-03-26"].map((version) => connect(served, { version })),
  );
  const answers = await Promise.all([
    served.tool("count"),
    ...[a, b, c].map((client) => (client as LegacyClient).tool("count")),
  ]);
  expect(answers.map(({ result }) => "resultType" in result)).toEqual([true, false, false, false]);
});
