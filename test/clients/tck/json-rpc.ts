import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent, Send } from "./agent";
import { eventsOf } from "./event-stream";
import { ERRORS, OPERATIONS } from "./operations";
import { begun, said } from "./talk";

/** The JSON-RPC binding as it is on the wire (A2A 1.0 §9). */
export function jsonRpc(send: Send, agent: Agent): void {
  const post = (body: unknown, headers: object = {}): Promise<Response> =>
    send("/a2a", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "A2A-Version": "1.0",
        Authorization: "Bearer owner-a",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const call = async (method: string, params: Wire, headers?: object): Promise<Wire> =>
    (await post({ jsonrpc: "2.0", id: 1, method, params }, headers)).json();

  it.each([1, 0, "text", "", null])("JSONRPC-FMT-001 answers under the id %j", async (id) => {
    const response = await post({ jsonrpc: "2.0", id, method: "ListTasks", params: { pageSize: 1 } });
    const { result, ...envelope } = (await response.json()) as Wire;
    expect(envelope).toEqual({ jsonrpc: "2.0", id });
    expect(result).toHaveProperty("pageSize", 1);
  });

  it.each([
    ['{"jsonrpc":', -32700],
    ["[]", -32600],
    ['{"id":1,"method":"ListTasks"}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ListTasks"}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ListTasks"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"Nothing"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":[]}', -32602],
  ])("JSONRPC-FMT-001 does not take %s for a request", async (body, code) => {
    const answer = (await (await post(body)).json()) as Wire;
    expect(Object.keys(answer).toSorted()).toEqual(["error", "id", "jsonrpc"]);
    expect(answer.error.code).toBe(code);
  });

  it("JSONRPC-FMT-002 is JSON both ways", async () => {
    const response = await post({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: said("tck-complete-task") });
    expect(response.headers.get("content-type")).toBe("application/json");
    for (const type of ["text/plain", "application/xml"]) {
      const refused = await post({ jsonrpc: "2.0", id: 1, method: "ListTasks" }, { "Content-Type": type });
      expect([refused.status, refused.headers.get("content-type")]).toEqual([415, "application/json"]);
    }
  });

  it("JSONRPC-FMT-002 is at the address with and without a slash", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 1 } });
    const headers = { "Content-Type": "application/json", "A2A-Version": "1.0", Authorization: "Bearer owner-a" };
    const response = await send("/a2a/", { method: "POST", headers, body });
    expect(await response.json()).toHaveProperty("result.pageSize", 1);
  });

  it("JSONRPC-SVC-001 knows each operation by its name in 1.0, and by no other", async () => {
    for (const method of Object.keys(OPERATIONS)) {
      // Of an unknown method nobody would look at the params.
      const response = await call(method, { id: 1, taskId: 1, pageSize: 0 });
      expect([method, response.error?.code ?? 0]).toEqual([method, method === "GetExtendedAgentCard" ? 0 : -32602]);
      for (const other of [method.toLowerCase(), `A2AService/${method}`]) {
        expect((await call(other, {})).error.code).toBe(-32601);
      }
    }
    for (const old of ["message/send", "tasks/get"]) expect((await call(old, {})).error.code).toBe(-32601);
  });

  it("JSONRPC-SVC-002 reads what is about the service from headers", async () => {
    const [known] = (await agent.call("GetExtendedAgentCard")).capabilities.extensions;
    const headers = { "A2A-Extensions": `https://example.com/unknown/v1, ${known.uri}` };
    const { headers: answered } = await agent.ask("SendMessage", said("tck-complete-task"), { headers });
    expect(answered.get("a2a-extensions")).toBe(known.uri);
    expect((await call("ListTasks", {}, { "A2A-Version": "9.9" })).error.code).toBe(-32009);
  });

  it("JSONRPC-ERR-001 writes an error as code, message and data", async () => {
    const { error, ...envelope } = await call("GetTask", { id: "no-such-task" });
    expect(envelope).toEqual({ jsonrpc: "2.0", id: 1 });
    expect(error).toEqual({ code: expect.any(Number), message: expect.any(String), data: expect.any(Array) });
  });

  it("JSONRPC-ERR-002 has codes of its own only for what A2A names", async () => {
    const codes = [
      (await call("GetTask", { id: "no-such-task" })).error.code,
      (await call("CancelTask", { id: "no-such-task" })).error.code,
      (await call("ListTasks", {}, { "A2A-Version": "9.9" })).error.code,
    ];
    for (const code of codes) expect(code >= -32099 && code <= -32001).toBe(true);
  });

  it("JSONRPC-ERR-003 says in the data, for programs, which error it is", async () => {
    const { error } = await call("GetTask", { id: "no-such-task" });
    expect(error.data).toEqual([
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ]);
  });

  it("JSONRPC-SSE-001 streams responses to the request, as Server-Sent Events", async () => {
    const request = { jsonrpc: "2.0", id: "s1", method: "SendStreamingMessage", params: said("tck-artifact-text") };
    const response = await post(request);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    let count = 0;
    for await (const { type, data } of eventsOf(response.body as unknown as AsyncIterable<Uint8Array>)) {
      expect([type, Object.keys(data).toSorted()]).toEqual(["message", ["id", "jsonrpc", "result"]]);
      expect([data.jsonrpc, data.id]).toEqual(["2.0", "s1"]);
      count += 1;
    }
    expect(count).toBeGreaterThan(2);
  });

  // The others of the table cannot be brought about here; test/a2a holds all of it.
  it("JSONRPC-SSE-002 has for each error the code of the table", async () => {
    const { id } = await begun(agent, "tck-complete-task");
    const codes = {
      TASK_NOT_FOUND: await call("GetTask", { id: "no-such-task" }),
      TASK_NOT_CANCELABLE: await call("CancelTask", { id }),
      UNSUPPORTED_OPERATION: await call("SubscribeToTask", { id }),
      CONTENT_TYPE_NOT_SUPPORTED: await call("SendMessage", said("send", { parts: [{ raw: "AAEC" }] })),
      VERSION_NOT_SUPPORTED: await call("GetTask", { id }, { "A2A-Version": "9.9" }),
      METHOD_NOT_FOUND: await call("Nothing", {}),
      INVALID_PARAMS: await call("GetTask", {}),
    };
    for (const [reason, { error }] of Object.entries(codes)) {
      expect([reason, error.data[0].reason, error.code]).toEqual([
        reason,
        reason,
        ERRORS[reason as keyof typeof codes][0],
      ]);
    }
  });
}
