import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TaskError } from "../../src/task/errors";
import { defineTool } from "../../src/tool/define-tool";
import { envelope, events, headersFor, only, REVISION, serve, withTasks, type Served, type Wire } from "../support/mcp";

let runs = 0;
const echo = defineTool({
  name: "echo",
  description: "Gives its arguments back.",
  input: { type: "object" },
  task: "forbidden",
  run: (args) => {
    runs += 1;
    return JSON.stringify(args);
  },
});

const keep = defineTool({
  name: "keep",
  description: "Gives its arguments back, as a task.",
  input: { type: "object" },
  task: "required",
  run: (args) => JSON.stringify(args),
});

let served: Served;
beforeAll(async () => {
  served = await serve([echo, keep], { config: { maxBodyBytes: 2_000, maxJsonDepth: 10 } });
});
beforeEach(() => {
  runs = 0;
});

type Sent = {
  method?: string;
  body?: BodyInit;
  headers?: Record<string, string | null>;
  url?: string;
  rpc?: string;
  params?: Wire;
};

/** A POST of `tools/list` unless the test says otherwise. */
function post({
  body,
  headers = {},
  url = "http://localhost/mcp",
  method = "POST",
  rpc = "tools/list",
  params = {},
}: Sent = {}) {
  const text = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: rpc,
    params: { ...params, _meta: envelope(withTasks) },
  });
  return served.app.request(url, {
    method,
    headers: headersFor(rpc, params, undefined, headers),
    ...(method === "POST" ? { body: body ?? text } : {}),
  });
}

const rejection = async (response: Response): Promise<Wire> => {
  const body = (await response.json()) as Wire;
  return { status: response.status, code: body.error.code, id: body.id };
};

/** `tools/call` of echo with the arguments as text, for what JSON.stringify would not write. */
const call = (id: string, args: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":${args},"_meta":${JSON.stringify(envelope({}))}}}`;
const callHeaders = { "Mcp-Method": "tools/call", "Mcp-Name": "echo" };

describe("the endpoint", () => {
  it.each(["http://localhost/mcp", "http://localhost/mcp/", "http://localhost/mcp?x=1"])(
    "is served at %s without a redirect (D14)",
    async (url) => {
      const response = await post({ url });
      expect(response.status).toBe(200);
      expect(((await response.json()) as Wire).result.tools).toHaveLength(2);
    },
  );

  it.each(["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])(
    "answers %s with 405 and says what is allowed (D15)",
    async (method) => {
      const response = await post({ method });
      expect(response.status).toBe(405);
      // This revision has no streams to GET; older ones do.
      expect(response.headers.get("allow")).toBe(method === "GET" ? "POST" : "GET, POST");
    },
  );

  it("lets no cache keep an answer and mints no session", async () => {
    const response = await post({ headers: { "Mcp-Session-Id": "abc" } });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("mcp-session-id")).toBeNull();
  });
});

describe("Origin and credentials", () => {
  it("refuses a foreign origin with 403 and an error without id", async () => {
    const response = await post({ headers: { Origin: "https://evil.example" } });
    expect(response.status).toBe(403);
    expect(Object.keys((await response.json()) as object)).not.toContain("id");
  });

  it("serves a loopback page on a loopback host", async () => {
    expect((await post({ headers: { Origin: "http://localhost:5173" } })).status).toBe(200);
  });

  it("challenges a missing and a wrong token, before the body is looked at", async () => {
    const guarded = await serve([echo], { owners: ["right"] });
    for (const headers of [{}, { Authorization: "Bearer wrong" }]) {
      const response = await guarded.app.request("http://localhost/mcp", { method: "POST", headers, body: "{broken" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
    expect(
      (await guarded.call("tools/list", {}, { token: "right", capabilities: withTasks })).result.tools,
    ).toHaveLength(1);
  });
});

describe("Content-Type and Accept", () => {
  it.each<[string | null, number]>([
    ["application/json", 200],
    ["Application/JSON; charset=UTF-8", 200],
    ["text/plain", 415],
    ["text/plain; x=application/json", 415],
    ["application/jsonx", 415],
    [null, 415],
  ])("a body of type %s gets %i", async (type, status) => {
    const response = await post({
      headers: { ...callHeaders, "Content-Type": type },
      body: new TextEncoder().encode(call("1", "{}")),
    });
    expect(response.status).toBe(status);
    expect(runs).toBe(status === 200 ? 1 : 0);
  });

  it.each<[string | null, string | null]>([
    ["*/*", "application/json"],
    [null, "application/json"],
    ["application/json", "application/json"],
    ["text/event-stream", "text/event-stream"],
    ["text/event-stream, application/json", "application/json"],
    ["application/json;q=0.9, text/event-stream;q=0.1", "application/json"],
    ["application/json, text/event-stream;q=0", "application/json"],
    ["application/json;q=0, text/event-stream", "text/event-stream"],
    ["application/jsonx, text/event-streamy", null],
    ["text/html", null],
  ])("Accept: %s is answered in %s (D01)", async (accept, type) => {
    const response = await post({ headers: { Accept: accept } });
    expect(response.status).toBe(type === null ? 406 : 200);
    if (type === null) return;
    expect(response.headers.get("content-type")).toBe(type);
    expect((await only(response)).result.tools).toHaveLength(2);
  });
});

describe("the body", () => {
  it("is counted, and refused above the limit with the setting's name", async () => {
    const body = call("1", JSON.stringify({ x: "y".repeat(2_000) }));
    const response = await post({ headers: callHeaders, body });
    expect(response.status).toBe(413);
    const { error } = (await response.json()) as Wire;
    expect(error.code).toBe(41300);
    expect(error.message).toContain("MAX_BODY_BYTES");
    expect(runs).toBe(0);
  });

  it("is counted as it streams, whatever Content-Length claims", async () => {
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000).fill(0x20)),
    });
    const response = await served.app.request("http://localhost/mcp", {
      method: "POST",
      headers: headersFor("tools/list", {}, undefined, { "Content-Length": "10" }),
      body: endless,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  it.each<[string, BodyInit]>([
    ["nothing", ""],
    ["broken JSON (D12)", '{"jsonrpc":'],
    [
      "bytes that are not UTF-8 (D12)",
      Uint8Array.from([...new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"'), 0xff, 0xfe, 0x22, 0x7d]),
    ],
    ["a key twice (D09)", '{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call","params":{}}'],
    ["nesting beyond MAX_JSON_DEPTH", "[".repeat(20) + "]".repeat(20)],
  ])("that is %s is a parse error without an id", async (_, body) => {
    expect(await rejection(await post({ body }))).toEqual({ status: 400, code: -32700, id: undefined });
  });

  it.each<[string, string]>([
    ["null", "null"],
    ["a batch (D06)", '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]'],
    ["an empty batch (D06)", "[]"],
    ["no JSON-RPC", '{"id":1,"method":"tools/list"}'.replace('"id":1,', "")],
    ["id null (D04)", '{"jsonrpc":"2.0","id":null,"method":"tools/list"}'],
    ["a fractional id (D04)", '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}'],
    ["an object for an id (D04)", '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
    ["a boolean id (D04)", '{"jsonrpc":"2.0","id":true,"method":"tools/list"}'],
    ["an id beyond 2^53 (D11)", '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}'],
    ["an infinite id", '{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}'],
    ["a response under a modern header (D15)", '{"jsonrpc":"2.0","id":99,"result":{}}'],
  ])("that is %s is an invalid request without an id", async (_, body) => {
    expect(await rejection(await post({ body }))).toEqual({ status: 400, code: -32600, id: undefined });
  });

  it.each<[string, string]>([
    ["params in a list", '{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[]}'],
    ["no method", '{"jsonrpc":"2.0","id":"a"}'],
    ["a method that is no string", '{"jsonrpc":"2.0","id":"a","method":1}'],
    ["the wrong jsonrpc", '{"jsonrpc":"1.0","id":"a","method":"tools/list"}'],
  ])("that has %s is refused by its id", async (_, body) => {
    expect(await rejection(await post({ body }))).toEqual({ status: 400, code: -32600, id: "a" });
  });

  it.each(["0", '""', '"0"', "-5", "9007199254740991"])("has its id %s echoed in type and value (D03)", async (id) => {
    const response = await post({ headers: callHeaders, body: call(id, "{}") });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`"id":${id},`);
  });

  it("may begin with a byte order mark (D08)", async () => {
    const body = Uint8Array.from([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(call("1", '{"a":1}'))]);
    expect(((await (await post({ headers: callHeaders, body })).json()) as Wire).result.content[0].text).toBe(
      '{"a":1}',
    );
  });

  it("is refused for a number that cannot be kept exactly (D11)", async () => {
    const response = await post({ headers: callHeaders, body: call("1", '{"x":9007199254740993}') });
    expect(await rejection(response)).toEqual({ status: 200, code: -32602, id: 1 });
    expect(runs).toBe(0);
  });

  it("keeps `__proto__` and `constructor` in arguments, and pollutes nothing (D10)", async () => {
    const args = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}}}';
    const inline = (await (await post({ headers: callHeaders, body: call("1", args) })).json()) as Wire;
    expect(inline.result.content[0].text).toBe(args);
    const created = await served.send("tools/call", JSON.parse(`{"name":"keep","arguments":${args}}`), {
      capabilities: withTasks,
    });
    const { taskId } = ((await created.json()) as Wire).result;
    const stored = await served.tasks.settle({ kind: "anonymous" }, taskId, { signal: AbortSignal.timeout(5_000) });
    expect(JSON.stringify(stored.stage)).toContain(JSON.stringify(JSON.stringify(args)).slice(1, -1));
    expect(({} as Wire).polluted).toBeUndefined();
  });

  it("may hold a lone surrogate, which comes back as it was sent (D12)", async () => {
    const response = await post({ headers: callHeaders, body: call("1", '{"x":"\\ud800"}') });
    expect(((await response.json()) as Wire).result.content[0].text).toBe('{"x":"\\ud800"}');
  });

  it.each(["notifications/initialized", "notifications/cancelled", "notifications/unheard-of"])(
    "that is the notification %s gets 202 and nothing (D05)",
    async (method) => {
      for (const version of [REVISION, "2025-11-25", null]) {
        const body = JSON.stringify({ jsonrpc: "2.0", method, params: { a: 1 } });
        const response = await post({ body, headers: { "MCP-Protocol-Version": version, "Mcp-Method": null } });
        expect(response.status).toBe(202);
        expect(await response.text()).toBe("");
      }
    },
  );

  it("that is a response under a legacy header gets 202 (D15)", async () => {
    const response = await post({
      body: '{"jsonrpc":"2.0","id":99,"result":{}}',
      headers: { "MCP-Protocol-Version": "2025-11-25" },
    });
    expect(response.status).toBe(202);
  });
});

describe("faults of ours", () => {
  it("give 500 without a word of the exception, which goes to the log", async () => {
    const tools = { list: () => fail() } as never;
    const broken = await serve([], { deps: { tools } });
    const response = await broken.send("tools/list", {}, { id: "x" });
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ id: "x", error: { code: -32603 } });
    expect(text).not.toContain("secret");
    expect(JSON.stringify(broken.log)).toContain("secret detail");
  });

  it("that will pass say so by status, and are logged; a refusal leaves its audit line and no more", async () => {
    const tasks = { get: () => Promise.reject(new TaskError("overloaded", "Try again.", { retryAfterMs: 2_000 })) };
    const broken = await serve([keep], { deps: { tasks: tasks as never } });
    const response = await broken.send("tasks/get", { taskId: "x" }, { capabilities: withTasks, id: "o" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await response.json()).toMatchObject({ id: "o", error: { code: -32603, message: "Try again." } });
    expect(broken.log).toHaveLength(1);
    await broken.call("tools/call", { name: "missing" });
    await broken.call("tools/list", { cursor: "made up" });
    await broken.send("tools/list", {}, { token: "wrong" });
    expect(broken.log.slice(1)).toEqual([
      { audit: "refuse", principal: null, code: "unknown_tool", status: 200 },
      { audit: "refuse", principal: null, code: "invalid", status: 200 },
      { audit: "refuse", code: "-32600", status: 401 },
    ]);
  });

  it("after the stream has begun are an error message on it", async () => {
    const toolListChanges = async function* (): AsyncGenerator<number> {
      yield 1;
      fail();
    };
    const broken = await serve([echo], { toolListChanges });
    const response = await broken.send("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const messages: Wire[] = [];
    for await (const message of events(response)) messages.push(message);
    expect(messages.at(-1)).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(JSON.stringify(messages)).not.toContain("secret");
  });
});

const fail = (): never => {
  throw new Error("a secret detail");
};
