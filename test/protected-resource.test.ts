import { describe, expect, it } from "vitest";
import { serve } from "./support/mcp";

const ROOT = "/.well-known/oauth-protected-resource";
const oauth = { issuer: "https://login.example/realm", audience: "x", jwksUrl: "https://login.example/keys" };
const metadata = {
  resource: "https://holdfast.example/mcp",
  authorization_servers: ["https://login.example/realm"],
  scopes_supported: ["holdfast:client"],
  bearer_methods_supported: ["header"],
};

const PAGE = { Origin: "https://anywhere.example" };

describe("the metadata of the protected resource", () => {
  it.each([ROOT, `${ROOT}/mcp`])("says at %s, to anybody, where tokens come from", async (path) => {
    const { app } = await serve([], { config: { oauth } });
    for (const headers of [{}, PAGE, { Authorization: "Bearer wrong" }]) {
      const response = await app.request(`https://holdfast.example${path}`, { headers });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(await response.json()).toEqual(metadata);
    }
  });

  it("names the server as it was addressed", async () => {
    const { app } = await serve([], { config: { oauth } });
    const response = await app.request(`http://127.0.0.1:8787${ROOT}/mcp`);
    expect(await response.json()).toMatchObject({ resource: "http://127.0.0.1:8787/mcp" });
  });

  it("is where the challenge of either spelling of the endpoint points", async () => {
    const { app } = await serve([], { config: { oauth } });
    for (const path of ["/mcp", "/mcp/"]) {
      const refused = await app.request(`https://holdfast.example${path}`, { method: "POST" });
      expect(refused.status).toBe(401);
      const [, url = ""] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
      expect(await (await app.request(url)).json()).toEqual(metadata);
    }
  });

  it("may be asked for by pages with headers of their own", async () => {
    const { app } = await serve([], { config: { oauth } });
    const headers = {
      ...PAGE,
      "Access-Control-Request-Method": "GET",
      "Access-Control-Request-Headers": "mcp-protocol-version",
    };
    const response = await app.request(`https://holdfast.example${ROOT}/mcp`, { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-headers")).toBe("*");
  });

  it("is nowhere without OAuth, nor for what is not served", async () => {
    const without = await serve([], { owners: ["right"] });
    for (const path of [ROOT, `${ROOT}/mcp`]) {
      const response = await without.app.request(`https://holdfast.example${path}`, { headers: PAGE });
      expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
    }
    const refused = await without.send("tools/list");
    expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="holdfast"');
    const { app } = await serve([], { config: { oauth } });
    expect((await app.request(`https://holdfast.example${ROOT}/else`)).status).toBe(404);
  });
});
