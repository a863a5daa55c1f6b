import { expect, it } from "vitest";
import { faultsOf } from "../../a2a/shapes";
import type { Wire } from "../../support/mcp";
import type { Agent, Send } from "./agent";

/** Who the agent says it is (A2A 1.0 §4.4.1, §5.2, §8). */
export function card(send: Send, agents: readonly Agent[]): void {
  const get = (headers: Record<string, string> = {}) => send("/.well-known/agent-card.json", { headers });
  const read = async (): Promise<Wire> => (await get()).json();

  it("CARD-DISC-001 anybody gets the card, where cards are looked for", async () => {
    const response = await get();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toMatchObject({
      name: expect.stringMatching(/./),
      capabilities: { streaming: true },
    });
  });

  it("CARD-STRUCT-001 it has all that it must have, and nothing that a strict client does not know", async () => {
    expect(faultsOf(await read(), "AgentCard")).toEqual([]);
  });

  it("CARD-PROTO-001 CARD-PROTO-002 each interface it names is there, and speaks the binding and version it says", async () => {
    const response = await get();
    const { supportedInterfaces } = (await response.json()) as Wire;
    expect(supportedInterfaces).toEqual([
      { url: expect.any(String), protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: expect.any(String), protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    ]);
    for (const { url, protocolBinding } of supportedInterfaces) {
      expect(new URL(url).origin).toBe(new URL(response.url).origin);
      const headers = { "A2A-Version": "1.0", Authorization: "Bearer owner-a", "Content-Type": "application/json" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 1 } });
      const answer =
        protocolBinding === "JSONRPC"
          ? await fetch(url, { method: "POST", headers, body })
          : await fetch(`${url}/tasks?pageSize=1`, { headers });
      expect(await answer.json()).toHaveProperty(protocolBinding === "JSONRPC" ? "result.pageSize" : "pageSize", 1);
    }
  });

  it("BIND-FIELD-001 it names every binding that is spoken, and each skill's media types", async () => {
    const { supportedInterfaces, skills } = await read();
    expect(supportedInterfaces).toHaveLength(agents.length);
    for (const { inputModes, outputModes } of skills) {
      expect([inputModes, outputModes]).toEqual([expect.arrayContaining(["text/plain"]), expect.any(Array)]);
    }
  });

  it("CARD-EXT-001 who is known, in the way the card names, gets the extended card, and nobody else", async () => {
    const { capabilities, securitySchemes, securityRequirements, ...others } = await read();
    expect(capabilities.extendedAgentCard).toBe(true);
    expect(securitySchemes).toMatchObject({ token: { httpAuthSecurityScheme: { scheme: "Bearer" } } });
    expect(securityRequirements).toMatchObject([{ schemes: { token: {} } }]);
    for (const agent of agents) {
      const extended = await agent.call("GetExtendedAgentCard");
      expect(extended).toMatchObject(others);
      expect(extended.capabilities.extensions.length).toBeGreaterThan(capabilities.extensions.length);
      expect((await agent.ask("GetExtendedAgentCard", {}, { token: null })).status).toBe(401);
    }
  });

  it("CARD-CACHE-001 it says how long it may be kept", async () => {
    expect((await get()).headers.get("cache-control")).toMatch(/\bmax-age=[1-9]\d*\b/);
  });

  it("CARD-CACHE-002 it has a tag, by which it is not sent twice", async () => {
    const etag = (await get()).headers.get("etag");
    expect(etag).toMatch(/^"[^"]+"$/);
    const again = await get({ "If-None-Match": etag ?? "" });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
  });

  it("CARD-CACHE-003 it says since when it is so", async () => {
    const since = (await get()).headers.get("last-modified") ?? "";
    expect(new Date(since).toUTCString()).toBe(since);
  });
}
