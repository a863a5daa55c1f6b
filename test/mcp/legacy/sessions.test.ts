import { describe, expect, it } from "vitest";
import { fixtureTools } from "../../fixtures/tools";
import { connect, LegacyClient } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

const WEEK_MS = 604_800_000;
const outcome = async (response: Response): Promise<Wire> => {
  const text = await response.text();
  const body = text === "" ? {} : JSON.parse(text);
  return [response.status, body.error?.code ?? "answered"];
};

describe("a session", () => {
  it("(C06) is 400 where it is missing and 404 where it is not known", async () => {
    const client = await connect(await serve(fixtureTools));
    const sent = async (id: string | null) =>
      outcome(await client.send("tools/list", {}, { headers: { "Mcp-Session-Id": id } }));
    expect(await sent(client.sessionId)).toEqual([200, "answered"]);
    expect(await sent(null)).toEqual([400, -32600]);
    expect(await sent("made-up")).toEqual([404, -32600]);
    expect(await sent("")).toEqual([404, -32600]);
    expect(await sent(`${client.sessionId}A`)).toEqual([404, -32600]);
  });

  it("(C06) goes on after a restart of the server, for which it is nothing but its id", async () => {
    const client = await connect(await serve(fixtureTools));
    const restarted = new LegacyClient(await serve(fixtureTools));
    restarted.sessionId = client.sessionId;
    restarted.result = client.result;
    expect(await outcome(await restarted.send("tools/list"))).toEqual([200, "answered"]);
  });

  it("ends after a week, and reads like one that never was", async () => {
    const served = await serve(fixtureTools);
    const client = await connect(served);
    served.advance(WEEK_MS - 1_000);
    expect((await client.send("ping")).status).toBe(200);
    served.advance(1_000);
    const late = await client.send("ping", {}, { id: 7 });
    const never = await client.send("ping", {}, { id: 7, headers: { "Mcp-Session-Id": "never" } });
    expect(late.status).toBe(404);
    expect(await late.text()).toBe(await never.text());
  });

  it("is its caller's alone", async () => {
    const served = await serve(fixtureTools, { owners: ["a", "b"] });
    const client = await connect(served, { token: "a" });
    expect(await outcome(await client.send("ping"))).toEqual([200, "answered"]);
    const stolen = { headers: { Authorization: "Bearer b" } };
    expect(await outcome(await client.send("ping", {}, stolen))).toEqual([404, -32600]);
    expect((await client.get({ Authorization: "Bearer b" })).status).toBe(404);
  });

  it("is matched whatever the capitals of its header", async () => {
    const client = await connect(await serve(fixtureTools));
    const headers = { "Mcp-Session-Id": null, "MCP-SESSION-ID": client.sessionId };
    expect((await client.send("ping", {}, { headers })).status).toBe(200);
  });

  it("cannot be ended by its client: 405 says so", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.served.app.request("http://localhost/mcp", {
      method: "DELETE",
      headers: client.headers(),
    });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, POST"]);
    expect((await client.send("ping")).status).toBe(200);
  });

  it("(F01) is not what tasks belong to: the same owner finds them from a new one", async () => {
    const served = await serve(fixtureTools, { owners: ["a"] });
    const first = await connect(served, { token: "a" });
    const { taskId } = await first.task("slow", { ms: 0, text: "kept" });
    const second = await first.again();
    await second.poll(taskId, "completed");
    expect((await second.call("tasks/result", { taskId })).result.content[0].text).toBe("kept");
    expect((await second.call("tasks/list")).result.tasks.map((task: Wire) => task.taskId)).toEqual([taskId]);
  });
});

describe("a method", () => {
  const served = serve(fixtureTools, { owners: ["a"] });

  it("(C01) that is not there is -32601 on 200 in a session", async () => {
    const client = await connect(await served, { token: "a" });
    expect(await outcome(await client.send("nope/x", {}))).toEqual([200, -32601]);
    expect(await outcome(await client.send("__proto__", {}))).toEqual([200, -32601]);
  });

  it("(C01) that is not there is that before a session is looked for", async () => {
    const bare = new LegacyClient(await served, { token: "a" });
    expect(await outcome(await bare.send("server/discover", {}))).toEqual([200, -32601]);
    const dead = { headers: { "Mcp-Session-Id": "dead" } };
    expect(await outcome(await bare.send("server/discover", {}, dead))).toEqual([200, -32601]);
    expect(await outcome(await bare.send("tools/list", {}))).toEqual([400, -32600]);
  });

  it("(C07) of the other era is not there", async () => {
    const client = await connect(await served, { token: "a" });
    for (const method of ["tasks/update", "subscriptions/listen", "server/discover"])
      expect(await outcome(await client.send(method, { taskId: "x" }))).toEqual([200, -32601]);
    const modern = await (await served).send("tasks/list", {}, { token: "a" });
    expect(await outcome(modern)).toEqual([404, -32601]);
  });

  it("(C07) lists no version that cannot be had by naming it", async () => {
    const { result } = await (await served).call("server/discover", {}, { token: "a" });
    expect(result.supportedVersions).toEqual(["2026-07-28"]);
  });

  it("is the one of the session's revision, whatever the header says", async () => {
    const client = await connect(await served, { token: "a", version: "2025-06-18" });
    const headers = { "MCP-Protocol-Version": "2025-11-25" };
    expect(await outcome(await client.send("tasks/list", {}, { headers }))).toEqual([200, -32601]);
  });

  it.each([0, "", "0", -1, "a b"])("(D03) echoes the id %j as it is", async (id) => {
    const client = await connect(await served, { token: "a" });
    expect((await client.call("ping", {}, { id })).id).toStrictEqual(id);
    expect((await client.call("nope", {}, { id })).id).toStrictEqual(id);
  });

  it("answers ping with nothing in it", async () => {
    const client = await connect(await served, { token: "a" });
    expect(await client.call("ping", undefined, { id: 5 })).toEqual({ jsonrpc: "2.0", id: 5, result: {} });
  });
});

describe("the version header", () => {
  it.each(["1999-13-40", "2024-11-05", "latest"])("(C05) %s is 400", async (version) => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("ping", {}, { headers: { "MCP-Protocol-Version": version } });
    expect(await outcome(response)).toEqual([400, -32600]);
  });

  it("(C05) may be absent: the session knows its version", async () => {
    const served = await serve(fixtureTools);
    const headers = { "MCP-Protocol-Version": null };
    const newer = await connect(served);
    const older = await connect(served, { version: "2025-03-26" });
    expect(await outcome(await newer.send("tasks/get", { taskId: "x" }, { headers }))).toEqual([200, -32602]);
    expect(await outcome(await older.send("tasks/get", { taskId: "x" }, { headers }))).toEqual([200, -32601]);
  });
});

describe("a notification or a response", () => {
  it.each<[string, Wire]>([
    ["notifications/initialized", { jsonrpc: "2.0", method: "notifications/initialized" }],
    ["one unheard of", { jsonrpc: "2.0", method: "notifications/unheard-of", params: { a: 1 } }],
    ["a cancellation of nothing", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } }],
    ["a malformed cancellation", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: {} } }],
    ["a response to nothing", { jsonrpc: "2.0", id: 99, result: {} }],
    ["an error to nothing", { jsonrpc: "2.0", id: "x", error: { code: 1, message: "no" } }],
    ["an error without an id", { jsonrpc: "2.0", error: { code: 1, message: "no" } }],
  ])("(D05) gets 202 and nothing: %s", async (_, message) => {
    const client = await connect(await serve(fixtureTools));
    for (const headers of [{}, { "Mcp-Session-Id": null }]) {
      const response = await client.post(message, { headers });
      expect([response.status, await response.text()]).toEqual([202, ""]);
    }
  });

  it("gets 404 in a session that is no more, so that its client begins anew", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.post(
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { headers: { "Mcp-Session-Id": "dead" } },
    );
    expect(await outcome(response)).toEqual([404, -32600]);
  });
});

it("knows no difference between the two spellings of the endpoint", async () => {
  const client = await connect(await serve(fixtureTools));
  const response = await client.served.app.request("http://localhost/mcp/", {
    method: "POST",
    headers: client.headers(),
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  expect(response.status).toBe(200);
});
