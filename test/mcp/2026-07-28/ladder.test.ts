import { beforeAll, describe, expect, it } from "vitest";
import { defineTool } from "../../../src/tool/define-tool";
import {
  envelope,
  headersFor,
  only,
  REVISION,
  serve,
  TASKS,
  withTasks,
  type Served,
  type Wire,
} from "../../support/mcp";

const greet = defineTool({
  name: "greet",
  description: "Greets.",
  input: { type: "object" },
  task: "forbidden",
  run: () => "Hello!",
});
const sampler = defineTool({
  name: "sampler",
  description: "Asks a model, forms and a page.",
  input: { type: "object" },
  task: "forbidden",
  asks: ["sampling"],
  run: () => "never",
});
const must = defineTool({
  name: "must",
  description: "Only as a task.",
  input: { type: "object" },
  task: "required",
  run: () => "done",
});

let served: Served;
beforeAll(async () => {
  served = await serve([greet, sampler, must]);
});

/** A request whose every part the test chooses. */
async function raw(method: string, params: Wire, headers: Record<string, string | null> = {}): Promise<Wire> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "q", method, ...(params === undefined ? {} : { params }) });
  const response = await served.app.request("http://localhost/mcp", {
    method: "POST",
    headers: headersFor(method, params ?? {}, undefined, headers),
    body,
  });
  const message = await only(response);
  return {
    status: response.status,
    id: message.id,
    code: message.error?.code,
    data: message.error?.data,
    result: message.result,
  };
}

const whole = (capabilities: object = {}) => ({ _meta: envelope(capabilities) });

describe("a request of this revision", () => {
  it.each<[string, Wire]>([
    ["no params", undefined],
    ["no _meta", {}],
    ["no version", { _meta: { "io.modelcontextprotocol/clientCapabilities": {} } }],
    ["no capabilities", { _meta: { "io.modelcontextprotocol/protocolVersion": REVISION } }],
  ])("with %s is 400 -32602 by its id (C03)", async (_, params) => {
    expect(await raw("tools/list", params)).toMatchObject({ status: 400, code: -32602, id: "q" });
  });

  it("needs no clientInfo", async () => {
    const { "io.modelcontextprotocol/clientInfo": _, ...meta } = envelope({});
    expect(await raw("tools/list", { _meta: meta })).toMatchObject({ status: 200, id: "q" });
  });

  it("with an unknown version in both places names what is supported, and discover agrees (C03)", async () => {
    const params = { _meta: { ...envelope({}), "io.modelcontextprotocol/protocolVersion": "v999.0.0" } };
    const refused = await raw("tools/list", params, { "MCP-Protocol-Version": "v999.0.0" });
    expect(refused).toMatchObject({ status: 400, code: -32022, id: "q", data: { requested: "v999.0.0" } });
    const { result } = await raw("server/discover", whole());
    for (const version of refused.data.supported) expect(result.supportedVersions).toContain(version);
  });

  it.each<[string, Record<string, string | null>]>([
    ["no version header (C02)", { "MCP-Protocol-Version": null }],
    ["another version in the header (C02)", { "MCP-Protocol-Version": "2025-11-25" }],
    ["no Mcp-Method", { "Mcp-Method": null }],
    ["another Mcp-Method", { "Mcp-Method": "tools/list" }],
    ["Mcp-Method in capitals", { "Mcp-Method": "TOOLS/CALL" }],
    ["Mcp-Method of a task (sep-2663)", { "Mcp-Method": "tasks/get" }],
    ["no Mcp-Name", { "Mcp-Name": null }],
    ["another Mcp-Name", { "Mcp-Name": "must" }],
    ["Mcp-Name in capitals", { "Mcp-Name": "GREET" }],
  ])("with %s is 400 -32020 by its id", async (_, headers) => {
    expect(await raw("tools/call", { name: "greet", ...whole() }, headers)).toMatchObject({
      status: 400,
      code: -32020,
      id: "q",
    });
  });

  it("finds its headers under any capitals", async () => {
    const headers = { "MCP-METHOD": "tools/call", "mcp-name": "greet" };
    expect(await raw("tools/call", { name: "greet", ...whole() }, headers)).toMatchObject({ status: 200 });
  });

  it.each([
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "unknown/method",
    "constructor",
    "__proto__",
  ])("for %s is 404 -32601", async (method) => {
    expect(await raw(method, whole())).toMatchObject({ status: 404, code: -32601, id: "q" });
  });

  it.each(["tasks/list", "tasks/result"])(
    "for the removed %s is 404 -32601, whatever it carries (B08)",
    async (method) => {
      for (const capabilities of [{}, withTasks]) {
        const params = { taskId: 5, ...whole(capabilities) };
        expect(await raw(method, params, { "Mcp-Name": null })).toMatchObject({ status: 404, code: -32601, id: "q" });
      }
    },
  );

  it("for a tool that asks what was not declared is 400 -32021 with an object of capabilities", async () => {
    const refused = await raw("tools/call", { name: "sampler", ...whole() });
    expect(refused).toMatchObject({
      status: 400,
      code: -32021,
      id: "q",
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  it("for a tool that needs tasks, undeclared, is 400 -32021 with the extension", async () => {
    const refused = await raw("tools/call", { name: "must", ...whole() });
    expect(refused).toMatchObject({
      status: 400,
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    });
  });

  it("is judged by the first rule it breaks", async () => {
    const broken = { "MCP-Protocol-Version": "2025-11-25", "Mcp-Method": null };
    // The envelope before the headers, the headers before the method, the method before the params.
    expect(await raw("unknown/method", {}, { "Mcp-Method": null })).toMatchObject({ code: -32602 });
    expect(await raw("unknown/method", whole(), broken)).toMatchObject({ code: -32020 });
    expect(await raw("unknown/method", { name: 5, ...whole() })).toMatchObject({ code: -32601 });
    // The extension before the params and before any look-up.
    expect(await raw("tasks/get", { taskId: 5, ...whole() }, { "Mcp-Name": "x" })).toMatchObject({ code: -32021 });
  });

  it("remembers nothing of the one before (base §Statelessness)", async () => {
    expect(await raw("tools/call", { name: "must", ...whole(withTasks) })).toMatchObject({ status: 200 });
    expect(await raw("tools/call", { name: "must", ...whole() })).toMatchObject({ code: -32021 });
  });

  it("with an unknown log level is -32602", async () => {
    const params = { name: "greet", _meta: { ...envelope({}), "io.modelcontextprotocol/logLevel": "loud" } };
    expect(await raw("tools/call", params)).toMatchObject({ status: 200, code: -32602 });
  });

  it.each([1.5, true, {}, null])("with the progress token %j is -32602", async (progressToken) => {
    const params = { name: "greet", _meta: { ...envelope({}), progressToken } };
    expect(await raw("tools/call", params)).toMatchObject({ status: 200, code: -32602 });
  });
});

describe("server/discover", () => {
  it("says all that is served and nothing else (golden)", async () => {
    expect((await raw("server/discover", whole())).result).toEqual({
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true }, logging: {}, extensions: { [TASKS]: {} } },
      ttlMs: 300_000,
      cacheScope: "public",
      _meta: {
        "io.modelcontextprotocol/serverInfo": { name: "holdfast", version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      },
    });
  });

  it("advertises tasks with exactly {} (B10)", async () => {
    const { capabilities } = (await raw("server/discover", whole(withTasks))).result;
    expect(capabilities.extensions[TASKS]).toEqual({});
    expect(capabilities).not.toHaveProperty("tasks");
  });

  it("keeps what a credential opened from caches of others", async () => {
    const owned = await serve([greet], { owners: ["token"] });
    for (const method of ["server/discover", "tools/list"]) {
      expect((await owned.call(method, {}, { token: "token" })).result.cacheScope).toBe("private");
    }
  });
});

describe("tools/list", () => {
  it("gives the deployment's order on one page, with caching hints (golden)", async () => {
    const { result } = await raw("tools/list", whole(withTasks));
    expect(result).toMatchObject({ resultType: "complete", ttlMs: 60_000, cacheScope: "private" });
    expect(result).not.toHaveProperty("nextCursor");
    expect(result.tools.map((tool: Wire) => tool.name)).toEqual(["greet", "sampler", "must"]);
    expect(result.tools[0]).toEqual({ name: "greet", description: "Greets.", inputSchema: greet.input });
  });

  it.each(["", "abc", null, 5])("refuses the cursor %j", async (cursor) => {
    expect(await raw("tools/list", { cursor, ...whole() })).toMatchObject({ status: 200, code: -32602, id: "q" });
  });

  it("lists schemas, title and annotations as they were declared", async () => {
    const input = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { a: { type: "string" } },
      properties: { a: { $ref: "#/$defs/a" } },
    } as const;
    const output = { type: "array", items: { type: "number" } } as const;
    const tool = defineTool({
      name: "t",
      title: "T",
      description: "d",
      input,
      output,
      annotations: { readOnlyHint: true },
      task: "optional",
      run: () => [1],
    });
    const { result } = await (await serve([tool])).call("tools/list", {}, { capabilities: withTasks });
    expect(result.tools).toEqual([
      {
        name: "t",
        title: "T",
        description: "d",
        inputSchema: input,
        outputSchema: output,
        annotations: { readOnlyHint: true },
      },
    ]);
  });

  it("adds the helper tools where the request does not declare tasks; a list of tasks only for who has one", async () => {
    const helpers = ["task_result", "task_answer", "task_cancel"];
    const owned = await serve([greet], { owners: ["token"] });
    const names = async (from: Served, options: object): Promise<string[]> =>
      (await from.call("tools/list", {}, options)).result.tools.map((tool: Wire) => tool.name);
    expect(await names(served, {})).toEqual(["greet", "sampler", "must", ...helpers]);
    expect(await names(owned, { token: "token" })).toEqual(["greet", ...helpers, "task_list"]);
    expect(await names(owned, { token: "token", capabilities: withTasks })).toEqual(["greet"]);
  });

  it("depends on the client, so no cache may show it to another", async () => {
    for (const capabilities of [{}, withTasks]) {
      expect((await served.call("tools/list", {}, { capabilities })).result.cacheScope).toBe("private");
    }
  });
});
