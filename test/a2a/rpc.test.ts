import { describe, expect, it } from "vitest";
import { A2aError } from "../../src/a2a/errors";
import { notFound, TaskError } from "../../src/task/errors";
import { message, oldMessage, openDoor, taskOf, type Wire } from "./a2a-door";

const answering = () =>
  openDoor({
    sendMessage: async () => taskOf("t1"),
    getTask: async ({ id }) => taskOf(id),
    listTasks: async () => ({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }),
  });

describe("a request that is no JSON-RPC request", () => {
  it.each<[string, unknown]>([
    ["a batch", [{ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } }]],
    ["an empty batch", []],
    ["a string", '"GetTask"'],
    ["null", "null"],
  ])("is refused: %s (D06)", async (_, body) => {
    const { rpc, handled } = answering();
    const response = await rpc(body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
    expect(handled).toEqual([]);
  });

  it.each<[string, Wire]>([
    ["another version", { jsonrpc: "1.0", id: 7, method: "GetTask", params: {} }],
    ["no version", { id: 7, method: "GetTask", params: {} }],
    ["no method", { jsonrpc: "2.0", id: 7, params: {} }],
    ["a method that is no string", { jsonrpc: "2.0", id: 7, method: 5 }],
    ["an empty method", { jsonrpc: "2.0", id: 7, method: "" }],
  ])("is refused on 200, by its id: %s", async (_, body) => {
    const response = await answering().rpc(body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32600 } });
  });

  it.each([{ bad: "type" }, 1.5, true, [1], 2 ** 60])("is refused when its id is %j", async (id) => {
    const response = await answering().rpc({ jsonrpc: "2.0", id, method: "GetTask", params: { id: "t1" } });
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it.each<[string, string | Uint8Array]>([
    ["that breaks off", '{"jsonrpc":'],
    ["that is empty", ""],
    [
      "that is not UTF-8",
      Uint8Array.from([...new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"'), 0xff, 0xfe, 0x22, 0x7d]),
    ],
    ["that nests too deep", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":${"[".repeat(64)}${"]".repeat(64)}}`],
    ["with a key twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}'],
  ])("is refused: a body %s (D12)", async (_, body) => {
    const { rpc, handled } = answering();
    const response = await rpc(body);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: null, error: { code: -32700 } });
    expect(handled).toEqual([]);
  });

  it("may hold an escaped lone surrogate (D12)", async () => {
    const { rpc, handled } = answering();
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: message() } });
    const response = await rpc(text.replace('"hi"', String.raw`"\ud800"`));
    expect(await response.json()).toMatchObject({ result: { task: { id: "t1" } } });
    expect(handled[0]?.request.message.parts[0].content.value).toBe("\ud800");
  });

  it("is refused when it is too long, naming the limit (D16)", async () => {
    const { rpc, handled } = openDoor({}, { config: { maxBodyBytes: 2_000 } });
    const long = message({ parts: [{ text: "x".repeat(2_000) }] });
    const response = await rpc({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: long } });
    expect(response.status).toBe(413);
    const { error } = (await response.json()) as Wire;
    expect(error).toMatchObject({ code: 41300, message: expect.stringContaining("MAX_BODY_BYTES") });
    expect(error.data[0].metadata).toEqual({ limit: "MAX_BODY_BYTES", value: "2000" });
    expect(handled).toEqual([]);
  });

  it.each([null, "text/plain", "application/x-www-form-urlencoded"])("is refused as %s", async (type) => {
    const { rpc, handled } = answering();
    const response = await rpc(
      { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } },
      {
        "Content-Type": type,
      },
    );
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      error: { code: -32005, data: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] },
    });
    expect(handled).toEqual([]);
  });

  it("is refused by another HTTP method", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await answering().request("/a2a", { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });
});

describe("a notification", () => {
  it.each(["GetTask", "SendMessage", "no/such"])("%s is neither answered nor served", async (method) => {
    const { rpc, handled } = answering();
    const response = await rpc({ jsonrpc: "2.0", method, params: { id: "t1", message: message() } });
    expect([response.status, await response.text(), handled]).toEqual([202, "", []]);
  });
});

describe("an answer", () => {
  it.each(["a", "", 0, -5, null])("has the id %j of its request", async (id) => {
    const { rpc } = answering();
    const response = await rpc({ jsonrpc: "2.0", id, method: "GetTask", params: { id: "t1" } });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const answer = (await response.json()) as Wire;
    expect([answer.id, answer.result.id]).toEqual([id, "t1"]);
  });

  it("comes with or without a slash", async () => {
    const { request } = answering();
    for (const path of ["/a2a", "/a2a/"]) {
      const response = await request(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } }),
      });
      expect(await response.json()).toMatchObject({ result: { id: "t1" } });
    }
  });

  it("names the extension that the client spoke of, in its own spelling", async () => {
    const uri = "https://holdfast.dev/a2a/input-requests/v1";
    const { rpc } = answering();
    const get = { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } };
    const modern = await rpc(get, { "A2A-Extensions": `urn:x, ${uri}` });
    expect(modern.headers.get("a2a-extensions")).toBe(uri);
    const old = await rpc(get, { "A2A-Version": null, "X-A2A-Extensions": uri });
    expect(old.headers.get("x-a2a-extensions")).toBe(uri);
    expect((await rpc(get, { "A2A-Extensions": "urn:x" })).headers.get("a2a-extensions")).toBeNull();
  });
});

describe("old names and new ones (G05)", () => {
  const send = (over?: object) => ({ message: message(over) });

  it("do not mix under 1.0", async () => {
    const { call } = answering();
    expect(await call("message/send", { message: oldMessage() })).toMatchObject({ id: 7, error: { code: -32601 } });
    expect(await call("SendMessage", { message: oldMessage() })).toMatchObject({ id: 7, error: { code: -32602 } });
  });

  it("are told apart by shape without the header", async () => {
    const { call } = answering();
    const none = { "A2A-Version": null };
    const modern = await call("SendMessage", send(), none);
    expect(modern.result).toMatchObject({ task: { id: "t1", status: { state: "TASK_STATE_COMPLETED" } } });
    const old = await call("SendMessage", { message: oldMessage() }, none);
    expect(old.result).toMatchObject({ kind: "task", id: "t1", status: { state: "completed" } });
    expect((await call("GetTask", { id: "t1" }, none)).result).toMatchObject({ kind: "task", id: "t1" });
    expect((await call("ListTasks", {}, none)).result).toEqual({
      tasks: [],
      nextPageToken: "",
      pageSize: 50,
      totalSize: 0,
    });
  });

  it("are -32009 of a version nobody speaks", async () => {
    const answer = await answering().call("SendMessage", send(), { "A2A-Version": "9.9" });
    expect(answer.error).toMatchObject({ code: -32009, data: [{ reason: "VERSION_NOT_SUPPORTED" }] });
  });

  it("ignores fields it does not know, and says none in return", async () => {
    const { call, handled } = answering();
    const params = { ...send({ role: "ROLE_USER", whatever: 1, message_id: "other" }), tenant: "x", more: [] };
    const { result } = await call("SendMessage", params);
    expect(Object.keys(result)).toEqual(["task"]);
    expect(Object.keys(result.task).sort()).toEqual(["contextId", "id", "status"]);
    expect(handled[0]?.request).toMatchObject({ tenant: "", message: { messageId: "m1" } });
  });

  it("has the wire that was spoken told to the handler", async () => {
    const { call, handled } = answering();
    await call("GetTask", { id: "t1" });
    await call("tasks/get", { id: "t1" }, { "A2A-Version": "0.3" });
    expect(handled.map(({ caller }) => [caller.wire, caller.origin])).toEqual([
      ["a2a/1.0", "http://localhost:8787"],
      ["a2a/0.3", "http://localhost:8787"],
    ]);
  });

  it("waits in 0.3 unless told not to, with a configuration and without", async () => {
    const { call, handled } = answering();
    for (const configuration of [undefined, {}, { blocking: true }, { blocking: false }]) {
      await call("message/send", { message: oldMessage(), configuration }, { "A2A-Version": null });
    }
    const waits = handled.map(({ request }) => !(request.configuration?.returnImmediately ?? false));
    expect(waits).toEqual([true, true, true, false]);
  });
});

describe("what a handler throws", () => {
  const failing = (thrown: unknown) =>
    openDoor({
      getTask: () => Promise.reject(thrown),
      listTasks: () => {
        throw thrown;
      },
    });

  it.each(["1.0", "0.3"])("is told by our table, in %s", async (version) => {
    const method = version === "1.0" ? "GetTask" : "tasks/get";
    const headers = { "A2A-Version": version };
    const { error } = await failing(notFound()).call(method, { id: "x" }, headers);
    expect(error).toEqual({
      code: -32001,
      message: "No such task, or it has expired.",
      data: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
      ],
    });
    const refused = await failing(new A2aError("unsupported", "No.")).call(method, { id: "x" }, headers);
    expect(refused.error).toMatchObject({ code: -32004, message: "No." });
  });

  it("travels on 200, and says when to come again", async () => {
    const door = failing(new TaskError("rate_limited", "Slower.", { retryAfterMs: 1_500 }));
    const response = await door.rpc({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x" } });
    expect([response.status, response.headers.get("retry-after")]).toEqual([200, "2"]);
    expect(await response.json()).toMatchObject({ error: { code: 42901 } });
    expect(door.log).toEqual([{ audit: "refuse", principal: null, code: "rate_limited", status: 429 }]);
  });

  it.each(["1.0", "0.3"])("is kept from the wire when it is no refusal, in %s", async (version) => {
    const door = failing(new Error("a secret detail"));
    const method = version === "1.0" ? "GetTask" : "tasks/get";
    const answer = await door.call(method, { id: "x" }, { "A2A-Version": version });
    expect(answer.error.code).toBe(-32603);
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect(JSON.stringify(door.log)).toContain("a secret detail");
  });

  it("is kept from the wire when the SDK is at fault", async () => {
    const door = openDoor({ getTask: async () => ({ ...taskOf("t"), artifacts: [{ parts: "none" }] }) });
    const answer = await door.call("tasks/get", { id: "x" }, { "A2A-Version": null });
    expect(answer.error).toMatchObject({ code: -32603, message: "The server could not answer; its log says why." });
    expect(JSON.stringify(door.log)).toContain("The transport refused tasks/get");
  });
});

describe("a caller", () => {
  it("who is unknown gets 401 and a challenge, the same for a wrong credential as for none", async () => {
    const { rpc } = openDoor({}, { config: { tokens: [] } });
    const get = { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t1" } };
    const answers = [];
    for (const Authorization of [null, "Bearer wrong", "Basic YTpi"]) {
      const response = await rpc(get, { Authorization });
      answers.push(JSON.stringify([response.status, response.headers.get("www-authenticate"), await response.json()]));
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('[401,"Bearer realm=\\"holdfast\\"",{"jsonrpc":"2.0","id":null,');
    expect(answers[0]).toContain('"reason":"UNAUTHENTICATED"');
  });

  it("without the scope of a client gets 403 and is told which", async () => {
    const sha256 = [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("wendy")))]
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join("");
    const { rpc } = openDoor({}, { config: { tokens: [{ sha256, subject: "wendy", scopes: ["worker"] }] } });
    const response = await rpc({ jsonrpc: "2.0", id: 1, method: "GetTask" }, { Authorization: "Bearer wendy" });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="holdfast:client"');
    expect(await response.json()).toMatchObject({ error: { data: [{ reason: "INSUFFICIENT_SCOPE" }] } });
  });
});
