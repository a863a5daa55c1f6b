import { describe, expect, it } from "vitest";
import { fixtureTools } from "../../fixtures/tools";
import { connect, LegacyClient } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

const versions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

/** What a server without storage can do: nothing may be asked of it. */
const noSessions: Wire = new Proxy({}, { get: () => () => Promise.reject(new Error("A session was stored.")) });

describe("initialize", () => {
  it.each(versions)("agrees on %s", async (version) => {
    const client = await connect(await serve(fixtureTools), { version });
    expect(client.result).toMatchObject({ protocolVersion: version, serverInfo: { name: "holdfast" } });
  });

  it.each(["2027-01-01", "2026-07-28", "2024-11-05", "1.0", "__proto__"])(
    "answers a wish for %s with the newest version that can be agreed on (C04)",
    async (version) => {
      const client = await connect(await serve(fixtureTools), { version });
      expect(client.result.protocolVersion).toBe("2025-11-25");
      expect(client.result).not.toHaveProperty("resultType");
    },
  );

  it("mints an id of visible ASCII, another one each time, and stores nothing for it", async () => {
    const served = await serve(fixtureTools, { deps: { sessions: noSessions } });
    const ids = await Promise.all([1, 2, 3].map(async () => (await connect(served)).sessionId));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{40,600}$/);
  });

  it("takes no session to begin one, and begins another where there is one", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("initialize", { protocolVersion: "2025-06-18", capabilities: {} });
    expect(response.status).toBe(200);
    expect(response.headers.get("mcp-session-id")).not.toBe(client.sessionId);
  });

  it.each<[string, Wire]>([
    ["no version", { capabilities: {} }],
    ["a version that is no text", { protocolVersion: 20251125, capabilities: {} }],
    ["no capabilities", { protocolVersion: "2025-11-25" }],
    ["no params", undefined],
  ])("refuses %s with -32602 on 200", async (_, params) => {
    const client = new LegacyClient(await serve(fixtureTools));
    const response = await client.send("initialize", params);
    expect(response.status).toBe(200);
    expect(((await response.json()) as Wire).error.code).toBe(-32602);
    expect(response.headers.get("mcp-session-id")).toBeNull();
  });

  it("is no method of the modern era, also where the older ones are served", async () => {
    const served = await serve(fixtureTools);
    const response = await served.send("initialize", { protocolVersion: "2025-11-25", capabilities: {} });
    expect(response.status).toBe(404);
    expect(((await response.json()) as Wire).error.code).toBe(-32601);
  });

  it("answers in a stream where the client takes nothing else", async () => {
    const client = new LegacyClient(await serve(fixtureTools));
    const params = { protocolVersion: "2025-11-25", capabilities: {} };
    const response = await client.send("initialize", params, { headers: { Accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("mcp-session-id")).toMatch(/./);
  });
});

describe("the capabilities declared", () => {
  const capabilitiesOf = async (version: string, owners?: readonly string[]): Promise<Wire> => {
    const served = await serve(fixtureTools, owners ? { owners } : {});
    return (await connect(served, { version, ...(owners?.[0] ? { token: owners[0] } : {}) })).result.capabilities;
  };

  it("(M1) say with objects what may be a task, on 2025-11-25", async () => {
    expect((await capabilitiesOf("2025-11-25", ["a"])).tasks).toEqual({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
  });

  it("(M4) leave the list out for callers that cannot be told apart", async () => {
    expect((await capabilitiesOf("2025-11-25")).tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
  });

  it.each(["2025-06-18", "2025-03-26"])("(M3) have no tasks on %s", async (version) => {
    expect(await capabilitiesOf(version, ["a"])).toEqual({ tools: { listChanged: true }, logging: {} });
  });

  it.each(versions)("say that the list of tools may change, on %s", async (version) => {
    expect((await capabilitiesOf(version)).tools).toEqual({ listChanged: true });
  });

  it.each(versions)("never have extensions on %s: those are of the modern era", async (version) => {
    expect(await capabilitiesOf(version, ["a"])).not.toHaveProperty("extensions");
  });

  it("(M2) are what answers", async () => {
    const served = await serve(fixtureTools, { owners: ["a"] });
    const anonymous = await connect(await serve(fixtureTools));
    const owner = await connect(served, { token: "a" });
    const older = await connect(served, { token: "a", version: "2025-06-18" });
    const code = async (client: LegacyClient, method: string) =>
      (await client.call(method, { taskId: "x" })).error?.code ?? "answered";
    expect(await code(owner, "tasks/list")).toBe("answered");
    expect(await code(anonymous, "tasks/list")).toBe(-32601);
    expect(await code(owner, "tasks/cancel")).toBe(-32602);
    expect(await code(anonymous, "tasks/cancel")).toBe(-32602);
    for (const method of ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"])
      expect(await code(older, method)).toBe(-32601);
  });
});
