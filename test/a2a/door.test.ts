import { beforeEach, describe, expect, it, vi } from "vitest";
import { defineTool } from "../../src/tool/define-tool";
import { serve, type Served } from "../support/mcp";
import { message } from "./a2a-door";

let loads = 0;
vi.mock("../../src/a2a/sdk", async (original) => {
  loads += 1;
  return original();
});

const tool = defineTool({
  name: "echo",
  description: "Says it.",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  task: "optional",
  run: () => "said",
});

const CARD = "/.well-known/agent-card.json";
let served: Served;
const at = (path: string, init?: RequestInit): Promise<Response> =>
  Promise.resolve(served.app.request(`http://localhost${path}`, init));
const rpc = (method: string, params: object, headers: object = {}): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});

describe("the door", () => {
  beforeEach(async () => {
    served = await serve([tool]);
  });

  it("loads the SDK for who calls there, and for nobody else", async () => {
    expect(JSON.stringify(await served.call("tools/list"))).toContain("echo");
    await at("/");
    expect(loads).toBe(0);
    expect((await at(CARD)).status).toBe(200);
    await at("/a2a", rpc("ListTasks", {}));
    expect(loads).toBe(1);
  });

  it("serves a message by each binding", async () => {
    const params = { message: message({ parts: [{ text: "x" }] }) };
    const { result } = (await (await at("/a2a", rpc("SendMessage", params))).json()) as { result: { task: object } };
    expect(result.task).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" } });
    const rest = await at("/a2a/message:send", { ...rpc("", {}), body: JSON.stringify(params) });
    expect(await rest.json()).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("is nowhere but at its address", async () => {
    for (const path of ["/a2ax", "/a2", "/.well-known/agent.json", `${CARD}x`]) {
      expect((await at(path, { method: "POST" })).status, path).toBe(404);
    }
  });

  it("is named at the root", async () => {
    expect(await (await at("/")).text()).toContain("/a2a");
  });

  it("is closed to pages of other origins, but for the card", async () => {
    const headers = { Origin: "https://elsewhere.example" };
    expect((await at("/a2a", rpc("ListTasks", {}, headers))).status).toBe(403);
    const card = await at(CARD, { headers });
    expect([card.status, card.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  });

  it("turns floods away, from the card too", async () => {
    const env = { FLOOD_GUARD: { limit: async () => ({ success: false }) } };
    served = await serve([tool], { deps: { env } });
    for (const path of [CARD, "/a2a"]) expect((await at(path)).status).toBe(429);
  });

  it("says where its tokens come from", async () => {
    const oauth = { issuer: "https://login.example", audience: "x", jwksUrl: "https://login.example/keys" };
    served = await serve([tool], { config: { oauth } });
    const refused = await at("/a2a", rpc("ListTasks", {}));
    const [, url = ""] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
    expect(url).toBe("http://localhost/.well-known/oauth-protected-resource/a2a");
    expect(await (await served.app.request(url)).json()).toMatchObject({ resource: "http://localhost/a2a" });
  });
});
