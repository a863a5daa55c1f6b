import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHoldfast } from "../src/holdfast";
import { defineTool } from "../src/tool/define-tool";
import { AUDIENCE, signed, signingKey, type SigningKey } from "./support/access-token";
import { envelope, events, headersFor, SUBSCRIPTION_ID, type Wire } from "./support/mcp";

const ISSUER = "https://login.example";
const JWKS = `${ISSUER}/keys`;
const settings = { AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE, AUTH_JWKS_URL: JWKS };

let stopped = 0;
const forever = defineTool({
  name: "forever",
  description: "Works until it is told to stop.",
  input: { type: "object" },
  task: "forbidden",
  run: async (_, task) => {
    task.progress({ message: "Begun" });
    await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
    stopped += 1;
    return "Stopped.";
  },
});

const published = new Map<string, SigningKey>();
let asked: string[] = [];
let up = true;

let ask: (token: string, init: RequestInit) => Promise<Response>;
beforeEach(() => {
  asked = [];
  up = true;
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    if (!up) throw new TypeError("Network connection lost.");
    return Response.json({ keys: [...published.values()].map(({ jwk }) => jwk) });
  });
  // A Worker of its own for each test: what it knows is kept as long as its env.
  const holdfast = createHoldfast({ tools: [forever], toolListChanges: untilAborted });
  const bindings = { ...env, ...settings };
  ask = async (token, init) => {
    const request = new Request(AUDIENCE, init);
    request.headers.set("Authorization", `Bearer ${token}`);
    return holdfast.handler.fetch(request, bindings, createExecutionContext());
  };
});
afterEach(() => vi.unstubAllGlobals());

async function* untilAborted(signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    yield;
  }
}

function send(token: string, rpc = "tools/list", params: Wire = {}): Promise<Response> {
  const _meta = { ...envelope({}), ...params._meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: rpc, params: { ...params, _meta } });
  return ask(token, { method: "POST", headers: headersFor(rpc, params), body });
}

describe("a token in workerd", () => {
  it.each(["RS256", "PS256", "ES256", "EdDSA"])("is verified (%s), also by many requests at once", async (alg) => {
    const key = await signingKey(alg, alg);
    published.set(alg, key);
    const token = await signed(key, ISSUER);
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await send(token)).status));
    expect([...new Set(statuses)]).toEqual([200]);
    expect(asked).toEqual([JWKS]);
    const forged = await signed(await signingKey(alg, alg), ISSUER);
    expect((await send(forged)).status).toBe(401);
  });

  it("is of a key that cannot be fetched: 503", async () => {
    up = false;
    const response = await send(await signed(await signingKey("ES256", "k"), ISSUER));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });
});

describe("a stream in workerd", { timeout: 30_000 }, () => {
  let token: string;
  beforeEach(async () => {
    const key = await signingKey("ES256", "k");
    published.set("k", key);
    // It is taken for three or four seconds more.
    token = await signed(key, ISSUER, { exp: Math.floor(Date.now() / 1000) - 26 });
  });

  it("that listens ends in good order when its credential does", async () => {
    const response = await send(token, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const messages: Wire[] = [];
    for await (const message of events(response)) messages.push(message);
    expect(messages).toHaveLength(2);
    expect(messages[1]).toMatchObject({ id: 1, result: { resultType: "complete", _meta: { [SUBSCRIPTION_ID]: 1 } } });
  });

  it("of a call ends without an answer, and its work is told to stop", async () => {
    const params = { name: "forever", arguments: {}, _meta: { progressToken: "p" } };
    const response = await send(token, "tools/call", params);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const messages: Wire[] = [];
    for await (const message of events(response)) messages.push(message);
    expect(messages.map(({ method }) => method)).toEqual(["notifications/progress"]);
    await vi.waitFor(() => expect(stopped).toBe(1));
  });

  it("of a session ends too", async () => {
    const accepts = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const { headers } = await ask(token, { method: "POST", headers: accepts, body });
    const session = { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "", "MCP-Protocol-Version": "2025-11-25" };
    const response = await ask(token, { headers: { ...session, Accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await response.text()).not.toBe("");
    expect((await ask(token, { headers: { ...session, Accept: "text/event-stream" } })).status).toBe(401);
  });
});
