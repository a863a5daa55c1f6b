import { beforeAll, describe, expect, it } from "vitest";
import { defineTool } from "../src/tool/define-tool";
import { serve, type Served } from "./support/mcp";

const PAGE = "https://inspector.example";
const EXPOSED = "WWW-Authenticate, Mcp-Session-Id, Retry-After, ETag, A2A-Extensions, X-A2A-Extensions";

let runs = 0;
const count = defineTool({
  name: "count",
  description: "Counts its runs.",
  input: { type: "object" },
  task: "forbidden",
  run: () => String((runs += 1)),
});

let served: Served;
beforeAll(async () => {
  served = await serve([count], { owners: ["right"], config: { allowedOrigins: [PAGE] } });
});

const preflight = (headers: Record<string, string>, path = "/mcp"): Promise<Response> =>
  Promise.resolve(
    served.app.request(`https://holdfast.example${path}`, {
      method: "OPTIONS",
      headers: { Origin: PAGE, "Access-Control-Request-Method": "POST", ...headers },
    }),
  );

const allowedHeaders = (response: Response): readonly string[] =>
  (response.headers.get("access-control-allow-headers") ?? "").split(", ");

describe("a preflight of an allowed page", () => {
  it("is answered without a credential, with all that clients send (D13)", async () => {
    const asked = ["authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"];
    const response = await preflight({ "Access-Control-Request-Headers": asked.join(",") });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(response.headers.get("access-control-allow-methods")?.split(", ")).toEqual(
      expect.arrayContaining(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    );
    const known = [...asked, "accept", "last-event-id", "a2a-version", "a2a-extensions", "idempotency-key", "if-match"];
    expect(allowedHeaders(response)).toEqual(expect.arrayContaining(known));
    expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(600);
    expect(response.headers.get("vary")).toBe("Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("allows what was asked for by name, and repeats nothing that is no name", async () => {
    const response = await preflight({
      "Access-Control-Request-Headers": "Mcp-Param-Region, X-Whatever,*,x y, ,<b>,mcp-param-ünicode,accept",
    });
    const names = allowedHeaders(response);
    expect(names).toEqual(expect.arrayContaining(["mcp-param-region", "x-whatever"]));
    expect(names.filter((name) => /[^a-z0-9*-]/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  it("is answered on every path, and when nothing is asked for", async () => {
    for (const path of ["/mcp/", "/", "/somewhere"]) expect((await preflight({}, path)).status).toBe(204);
  });
});

describe("an answer to an allowed page", () => {
  const send = (token: string | null, headers: Record<string, string | null> = {}) =>
    served.send("tools/list", {}, { ...(token === null ? {} : { token }), headers: { Origin: PAGE, ...headers } });

  it.each<[number, () => Promise<Response>]>([
    [200, () => send("right")],
    [401, () => send(null)],
    [401, () => send("wrong")],
    [415, () => send("right", { "Content-Type": "text/plain" })],
    [404, () => served.send("no/such", {}, { token: "right", headers: { Origin: PAGE } })],
    [405, async () => served.app.request("/mcp", { method: "PUT", headers: { Origin: PAGE } })],
    [404, async () => served.app.request("/nothing", { headers: { Origin: PAGE } })],
  ])("of status %i can be read by it (D13)", async (status, ask) => {
    const response = await ask();
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(response.headers.get("access-control-expose-headers")).toBe(EXPOSED);
    expect(response.headers.get("vary")).toContain("Origin");
    if (status === 401) expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  it("can be read when it is a stream, and when the server is at fault", async () => {
    const stream = await served.send(
      "tools/list",
      {},
      {
        token: "right",
        headers: { Origin: PAGE, Accept: "text/event-stream" },
      },
    );
    expect(stream.headers.get("content-type")).toMatch("text/event-stream");
    expect(stream.headers.get("access-control-allow-origin")).toBe(PAGE);
    const tools = { list: () => fail() } as never;
    const broken = await serve([], { config: { allowedOrigins: [PAGE] }, deps: { tools } });
    const response = await broken.send("tools/list", {}, { headers: { Origin: PAGE } });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([500, PAGE]);
  });

  it("goes to local pages on a local server", async () => {
    const local = { Origin: "http://localhost:5173" };
    const answer = await served.send("tools/list", {}, { token: "right", headers: local });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, local.Origin]);
    const response = await served.app.request("http://127.0.0.1:8787/mcp", { method: "OPTIONS", headers: local });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([204, local.Origin]);
  });
});

describe("a page of another origin", () => {
  const FOREIGN = ["https://evil.example", "null", "http://localhost:5173", "https://inspector.example.evil.example"];

  it.each(["OPTIONS", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])(
    "is refused whatever it sends: %s",
    async (method) => {
      const before = runs;
      for (const origin of FOREIGN) {
        for (const path of ["/mcp", "/mcp/", "/", "/nothing"]) {
          const body = JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name: "count", arguments: {} },
          });
          const response = await served.app.request(`https://holdfast.example${path}`, {
            method,
            headers: {
              Origin: origin,
              "Access-Control-Request-Method": "POST",
              Authorization: "Bearer right",
              "Content-Type": "application/json",
            },
            ...(["POST", "PUT", "PATCH"].includes(method) ? { body } : {}),
          });
          expect(response.status, `${origin} ${path}`).toBe(403);
          expect(response.headers.get("access-control-allow-origin")).toBeNull();
          // A challenge would have a client ask for more scopes.
          expect(response.headers.get("www-authenticate")).toBeNull();
          expect(response.headers.get("vary")).toBe("Origin");
        }
      }
      expect(runs).toBe(before);
    },
  );

  it("is refused before its credential is looked at", async () => {
    const headers = { Origin: "https://evil.example" };
    const texts = await Promise.all(
      ["right", "wrong"].map(async (token) => (await served.send("tools/list", {}, { token, headers })).text()),
    );
    expect(texts[0]).toBe(texts[1]);
    expect(JSON.parse(texts[0]!)).toEqual({ jsonrpc: "2.0", error: { code: -32600, message: expect.any(String) } });
  });
});

describe("a request that is no page's", () => {
  it("is served, and told that answers differ by origin", async () => {
    const response = await served.send("tools/list", {}, { token: "right" });
    expect(response.status).toBe(200);
    expect(response.headers.get("vary")).toBe("Origin");
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

const fail = (): never => {
  throw new Error("a secret detail");
};
