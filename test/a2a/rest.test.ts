import { describe, expect, it } from "vitest";
import { notFound, TaskError } from "../../src/task/errors";
import { message, openDoor, taskOf, type Wire } from "./a2a-door";

const config = (over: object = {}) => ({ url: "https://hooks.example/x", ...over });
const stored = (request: Wire) => ({ tenant: "", token: "", authentication: undefined, ...request });

const answering = () =>
  openDoor({
    sendMessage: async () => taskOf("t1"),
    getTask: async ({ id }) => taskOf(id),
    cancelTask: async ({ id }) => taskOf(id, 5),
    listTasks: async () => ({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }),
    createTaskPushNotificationConfig: async (request) => stored(request),
    getTaskPushNotificationConfig: async (request) => stored({ ...config(), ...request }),
    listTaskPushNotificationConfigs: async () => ({ configs: [], nextPageToken: "" }),
    deleteTaskPushNotificationConfig: async () => undefined,
  });

const json = { "Content-Type": "application/json", "A2A-Version": "1.0" };
const post = (body: unknown, headers: object = {}): RequestInit => ({
  method: "POST",
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});

describe("an operation over HTTP", () => {
  it.each<[string, string, RequestInit, string, object, unknown]>([
    ["POST", "/message:send", post({ message: message() }), "sendMessage", {}, { task: { id: "t1" } }],
    ["GET", "/tasks", {}, "listTasks", {}, { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }],
    ["GET", "/tasks/t1?historyLength=3", {}, "getTask", { id: "t1", historyLength: 3 }, { id: "t1" }],
    ["POST", "/tasks/t1:cancel", { method: "POST" }, "cancelTask", { id: "t1" }, { id: "t1" }],
    ["POST", "/tasks/t1:cancel", post({ metadata: { a: 1 } }), "cancelTask", { metadata: { a: 1 } }, { id: "t1" }],
    [
      "POST",
      "/tasks/t1/pushNotificationConfigs",
      post(config({ id: "c", taskId: "other" })),
      "createTaskPushNotificationConfig",
      { taskId: "t1", id: "c" },
      { taskId: "t1", id: "c", url: "https://hooks.example/x" },
    ],
    [
      "GET",
      "/tasks/t1/pushNotificationConfigs",
      {},
      "listTaskPushNotificationConfigs",
      { taskId: "t1" },
      { configs: [] },
    ],
    [
      "GET",
      "/tasks/t1/pushNotificationConfigs/c",
      {},
      "getTaskPushNotificationConfig",
      { taskId: "t1", id: "c" },
      { id: "c" },
    ],
    [
      "DELETE",
      "/tasks/t1/pushNotificationConfigs/c",
      { method: "DELETE" },
      "deleteTaskPushNotificationConfig",
      { taskId: "t1", id: "c" },
      {},
    ],
  ])("%s %s", async (_, path, init, operation, request, body) => {
    const { request: ask, handled } = answering();
    const response = await ask(`/a2a${path}`, init);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject(body as object);
    expect(handled).toMatchObject([{ operation, request, caller: { wire: "a2a/1.0" } }]);
  });

  it("that has nothing to say answers with an empty message", async () => {
    const response = await answering().request("/a2a/tasks/t/pushNotificationConfigs/c", { method: "DELETE" });
    expect([response.status, await response.text()]).toEqual([200, "{}"]);
  });

  it("says in a query what a body says in JSON", async () => {
    const { request, handled } = answering();
    const query =
      "contextId=c%201&status=TASK_STATE_WORKING&pageSize=7&pageToken=a%2Bb&historyLength=0" +
      "&statusTimestampAfter=2026-11-30T00:00:00Z&includeArtifacts=false&A2A-Version=1.0&whatever=1";
    expect((await request(`/a2a/tasks?${query}`)).status).toBe(200);
    expect(handled[0]?.request).toEqual({
      tenant: "",
      contextId: "c 1",
      status: 2,
      pageSize: 7,
      pageToken: "a+b",
      historyLength: 0,
      statusTimestampAfter: "2026-11-30T00:00:00Z",
      includeArtifacts: false,
    });
  });

  it.each([
    ["pageSize=0", "pageSize"],
    ["pageSize=101", "pageSize"],
    ["pageSize=ten", "pageSize"],
    ["pageSize=1e1", "pageSize"],
    ["historyLength=-1", "historyLength"],
    ["includeArtifacts=yes", "includeArtifacts"],
    ["includeArtifacts=0", "includeArtifacts"],
    ["status=WORKING", "status"],
    ["statusTimestampAfter=yesterday", "statusTimestampAfter"],
  ])("refuses %s, and names the field", async (query, field) => {
    const { request, handled } = answering();
    const response = await request(`/a2a/tasks?${query}`);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as Wire;
    expect(error).toMatchObject({
      code: 400,
      status: "INVALID_ARGUMENT",
      message: expect.stringMatching(`^${field} `),
    });
    expect(error.details[1]).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field }],
    });
    expect(handled).toEqual([]);
  });

  it.each([
    ["a%2Fb", "a/b"],
    ["a%20b%3F%23", "a b?#"],
    ["%C3%BC", "ü"],
    ["x%3Acancel", "x:cancel"],
    ["a:b", "a:b"],
    ["x:cancel:subscribe%20", "x:cancel:subscribe "],
    ["%252e", "%2e"],
    ["__proto__", "__proto__"],
  ])("takes %s of the path for the id it is", async (part, id) => {
    const { request, handled } = answering();
    await request(`/a2a/tasks/${part}`);
    await request(`/a2a/tasks/${part}:cancel`, { method: "POST" });
    await request(`/a2a/tasks/${part}/pushNotificationConfigs/${part}`);
    expect(handled.map(({ request: { taskId, ...asked } }) => [asked.id, taskId])).toEqual([
      [id, undefined],
      [id, undefined],
      [id, id],
    ]);
  });

  it.each(["/tasks/%zz", "/tasks/%C3", "/tasks/t1:cancel?x=%", "/tasks?contextId=%ff"])(
    "refuses %s, which is no encoding",
    async (path) => {
      const { request, handled } = answering();
      const init = path.includes(":cancel") ? { method: "POST" } : {};
      const response = await request(`/a2a${path}`, init);
      expect([response.status, handled]).toEqual([400, []]);
    },
  );
});

describe("an address", () => {
  it.each([
    "/",
    "/tasks/",
    "/tasks//",
    "/tasks/t1/",
    "/tasks/t1/more",
    "/tasks/t1/pushNotificationConfigs/",
    "/tasks/t1/pushNotificationConfigs/c/d",
    "/message",
    "/message:sendx",
    "/v1/message:send",
    "/x/tasks",
    "/extendedAgentCard/",
  ])("%s is none", async (path) => {
    const { request, handled } = answering();
    const response = await request(`/a2a${path}`, post({}));
    expect(response.status).toBe(path === "/" ? 200 : 404);
    if (path !== "/") expect(await response.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    expect(handled).toEqual([]);
  });

  it.each([
    ["GET", "/message:send", "POST"],
    ["GET", "/message:stream", "POST"],
    ["POST", "/tasks", "GET"],
    ["PUT", "/tasks/t1", "GET"],
    ["HEAD", "/tasks/t1", "GET"],
    ["HEAD", "/tasks/t1:subscribe", "GET, POST"],
    ["GET", "/tasks/t1:cancel", "POST"],
    ["PATCH", "/tasks/t1:subscribe", "GET, POST"],
    ["DELETE", "/tasks/t1/pushNotificationConfigs", "GET, POST"],
    ["POST", "/tasks/t1/pushNotificationConfigs/c", "GET, DELETE"],
    ["POST", "/extendedAgentCard", "GET"],
    ["constructor", "/tasks", "GET"],
  ])("does not take %s at %s", async (method, path, allow) => {
    const { request, handled } = answering();
    const response = await request(`/a2a${path}`, { method });
    expect([response.status, response.headers.get("allow"), handled]).toEqual([405, allow, []]);
  });
});

describe("the media type", () => {
  it.each([
    [null, "application/a2a+json"],
    ["*/*", "application/a2a+json"],
    ["application/a2a+json, application/json", "application/a2a+json"],
    ["application/json", "application/json"],
    ["text/html, Application/JSON;q=0.5", "application/json"],
  ])("of an answer to Accept: %s is %s", async (accept, type) => {
    const { request } = answering();
    for (const path of ["/tasks/t1", "/tasks/%zz"]) {
      const response = await request(`/a2a${path}`, { headers: accept === null ? {} : { Accept: accept } });
      expect(response.headers.get("content-type")).toBe(type);
    }
  });

  it.each(["application/a2a+json", "application/json; charset=utf-8", "APPLICATION/JSON"])(
    "of a body may be %s",
    async (type) => {
      const { request } = answering();
      const response = await request("/a2a/message:send", post({ message: message() }, { "Content-Type": type }));
      expect(response.status).toBe(200);
    },
  );

  it.each(["text/plain", "application/xml", ""])("of a body may not be %j", async (type) => {
    const { request, handled } = answering();
    for (const [path, body] of [
      ["/message:send", "not JSON"],
      ["/tasks/t1:cancel", "{}"],
    ] as const) {
      const response = await request(`/a2a${path}`, { method: "POST", headers: { "Content-Type": type }, body });
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({
        error: { code: 415, details: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED", domain: "a2a-protocol.org" }] },
      });
    }
    expect(handled).toEqual([]);
  });
});

describe("a body", () => {
  it.each<[string, BodyInit, number, string]>([
    ["no JSON (D12)", "{", 400, "PARSE_ERROR"],
    ["not UTF-8 (D12)", Uint8Array.from([0x22, 0xff, 0xfe, 0x22]), 400, "PARSE_ERROR"],
    ["empty", "", 400, "PARSE_ERROR"],
    ["a list (D06)", "[]", 400, "INVALID_PARAMS"],
    ["too long (D16)", JSON.stringify({ message: message({ x: "y".repeat(5_000) }) }), 413, "TOO_LARGE"],
    ["one whose number cannot be kept", '{"metadata":{"n":9007199254740993}}', 400, "INVALID_PARAMS"],
  ])("that is %s is refused", async (_, body, status, reason) => {
    const { request, handled } = openDoor({}, { config: { maxBodyBytes: 2_000 } });
    const response = await request("/a2a/message:send", { method: "POST", headers: json, body });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code: status, details: [{ reason }] } });
    expect(handled).toEqual([]);
  });
});

describe("the version", () => {
  it.each([
    [{}, 200],
    [{ "A2A-Version": "" }, 200],
    [{ "A2A-Version": "1.0" }, 200],
    [{ "A2A-Version": " 1.0.7 " }, 200],
    [{ "A2A-Version": "0.3" }, 400],
    [{ "A2A-Version": "9.9" }, 400],
  ])("%j comes to %d", async (headers, status) => {
    const response = await answering().request("/a2a/tasks/t1", { headers });
    expect(response.status).toBe(status);
    if (status === 400)
      expect(await response.json()).toMatchObject({ error: { details: [{ reason: "VERSION_NOT_SUPPORTED" }] } });
  });

  it("may stand in the query", async () => {
    expect((await answering().request("/a2a/tasks/t1?A2A-Version=9.9")).status).toBe(400);
  });
});

describe("an error", () => {
  it("has the status of the specification", async () => {
    const { request } = openDoor({ getTask: () => Promise.reject(notFound()) });
    const response = await request("/a2a/tasks/nobodys");
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "No such task, or it has expired.",
        details: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
        ],
      },
    });
  });

  it("says when to come again", async () => {
    const { request } = openDoor({
      getTask: () => Promise.reject(new TaskError("overloaded", "Later.", { retryAfterMs: 200 })),
    });
    const response = await request("/a2a/tasks/t1");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("of a caller who is unknown is 401, with a challenge", async () => {
    const { request, handled } = openDoor({}, { config: { tokens: [] } });
    for (const path of ["/tasks/t1", "/nothing"]) {
      const response = await request(`/a2a${path}`);
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="holdfast"']);
      expect(await response.json()).toMatchObject({ error: { code: 401, status: "UNAUTHENTICATED" } });
    }
    expect(handled).toEqual([]);
  });
});
