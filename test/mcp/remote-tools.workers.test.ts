// Remote tools in the Worker as a whole: what is declared in one request is known in every other.
import { createExecutionContext, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { durableRemoteTools } from "../../durable-objects/durable-remote-tools";
import { createHoldfast } from "../../src/holdfast";
import { fixtureTools } from "../fixtures/tools";
import { EventReader } from "../support/legacy";
import { envelope, headersFor, only, withEverything, type Wire } from "../support/mcp";
import { remote } from "../support/remote";

const CHANGED = "notifications/tools/list_changed";

beforeEach(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  await reset();
});

/** The Worker with bindings of its own. */
function serverWith(over: object = {}) {
  const { handler } = createHoldfast({ tools: fixtureTools });
  const bindings = { ...env, ...over };
  const fetch = (init: RequestInit): Promise<Response> =>
    handler.fetch(new Request("http://localhost/mcp", init), bindings, createExecutionContext());
  const send = (method: string, params: Wire = {}): Promise<Response> => {
    const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(withEverything) } };
    return fetch({ method: "POST", headers: headersFor(method, params), body: JSON.stringify(body) });
  };
  const call = async (method: string, params?: Wire): Promise<Wire> => only(await send(method, params));
  const names = async (): Promise<readonly string[]> =>
    (await call("tools/list")).result.tools.map(({ name }: Wire) => name);
  /** The stream of a new session. */
  const listen = async (): Promise<EventReader> => {
    const headers = new Headers({ "Content-Type": "application/json", Accept: "application/json, text/event-stream" });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const begun = await fetch({ method: "POST", headers, body });
    headers.set("Mcp-Session-Id", begun.headers.get("mcp-session-id") ?? "");
    return new EventReader(await fetch({ headers }));
  };
  return { send, call, names, listen };
}

const declared = durableRemoteTools(env as never);

describe("a tool declared over the API", () => {
  it("is told of on the streams of both eras, listed after REMOTE_TOOLS, and called", async () => {
    const { send, call, names, listen } = serverWith();
    const modern = new EventReader(await send("subscriptions/listen", { notifications: { toolsListChanged: true } }));
    const legacy = await listen();
    await modern.notification("notifications/subscriptions/acknowledged");
    expect((await names()).slice(-1)).toEqual(["remote"]);

    await declared.put(remote());
    await modern.notification(CHANGED);
    expect((await names()).slice(-2)).toEqual(["remote", "render"]);
    const { result } = await call("tools/call", { name: "render", arguments: { frames: 1 } });
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    expect((await call("tools/call", { name: "render", arguments: { frames: 0 } })).result.isError).toBe(true);

    let n = 0;
    // The stream is there before it listens to anything.
    await vi.waitUntil(
      async () => {
        await declared.put(remote({ title: String((n += 1)) }));
        return legacy.messages.some(({ method }) => method === CHANGED);
      },
      { timeout: 20_000 },
    );
    await declared.remove("render");
    await modern.notification(CHANGED, n + 2);
    expect((await call("tools/call", { name: "render" })).error.code).toBe(-32602);
    await Promise.all([modern.leave(), legacy.leave()]);
  });
});

describe("the deployment's own tools", () => {
  it("are called without a look at what is declared", async () => {
    const gone = {
      getByName() {
        throw new Error("There is no such object.");
      },
    };
    const { call, send } = serverWith({ TOOLS: gone });
    expect((await call("tools/call", { name: "plain" })).result).toMatchObject({ resultType: "complete" });
    expect((await call("tools/call", { name: "remote" })).result).toMatchObject({ resultType: "task" });
    expect((await send("tools/list")).status).toBe(500);
  });

  it.each<[string, object, string]>([
    ["a name of the code", { name: "greet" }, 'REMOTE_TOOLS: Tool "greet": '],
    ["a schema that cannot be", { inputSchema: { type: "array" } }, 'REMOTE_TOOLS: Tool "render": '],
  ])("are misconfigured with %s in REMOTE_TOOLS, which the first request is told", async (_, facts, message) => {
    const { send } = serverWith({ REMOTE_TOOLS: JSON.stringify([remote(facts)]) });
    const response = await send("tools/list");
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { code: -32603, message: expect.stringContaining(message) },
    });
  });
});
