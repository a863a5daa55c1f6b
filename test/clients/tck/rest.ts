import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent, Send } from "./agent";
import { eventsOf } from "./event-stream";
import { ERRORS } from "./operations";
import { begun, said, three } from "./talk";

/** The HTTP+JSON binding as it is on the wire (A2A 1.0 §11). */
export function rest(send: Send, agent: Agent): void {
  const ask = (method: string, path: string, body?: Wire, headers: object = {}): Promise<Response> =>
    send(`/a2a${path}`, {
      method,
      headers: {
        "A2A-Version": "1.0",
        Authorization: "Bearer owner-a",
        ...(body === undefined ? {} : { "Content-Type": "application/a2a+json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  const read = async (method: string, path: string, body?: Wire, headers?: object): Promise<Wire> =>
    (await ask(method, path, body, headers)).json();

  it("HTTP_JSON-URL-001 has each operation at its address", async () => {
    const { task } = await read("POST", "/message:send", said("tck-input-required"));
    const at = `/tasks/${task.id}`;
    expect(await read("GET", at)).toEqual(task);
    expect((await read("GET", "/tasks?pageSize=1")).tasks).toHaveLength(1);
    const configs = `${at}/pushNotificationConfigs`;
    const config = await read("POST", configs, { id: "c", url: "https://hooks.example/x" });
    expect(config).toMatchObject({ taskId: task.id, id: "c" });
    expect(await read("GET", `${configs}/c`)).toEqual(config);
    expect((await read("GET", configs)).configs).toEqual([config]);
    expect(await read("DELETE", `${configs}/c`)).toEqual({});
    const subscribed = await ask("POST", `${at}:subscribe`);
    expect(subscribed.headers.get("content-type")).toBe("text/event-stream");
    expect(await read("POST", `${at}:cancel`)).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    expect(await subscribed.text()).toContain("TASK_STATE_CANCELED");
    const streamed = await ask("POST", "/message:stream", said("tck-complete-task"));
    expect(await streamed.text()).toContain("TASK_STATE_COMPLETED");
    expect(await read("GET", "/extendedAgentCard")).toHaveProperty("skills");
  });

  it.each(["/message", "/message:nothing", "/tasks/x/y", "/tasks/", "/v1/message:send", "/agentCard"])(
    "HTTP_JSON-URL-001 has nothing at %s",
    async (path) => {
      expect(await read("GET", path)).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    },
  );

  it.each([
    ["GET", "/message:send", "POST"],
    ["PUT", "/message:stream", "POST"],
    ["POST", "/tasks", "GET"],
    ["DELETE", "/tasks/x", "GET"],
    ["GET", "/tasks/x:cancel", "POST"],
    ["PUT", "/tasks/x/pushNotificationConfigs", "GET, POST"],
    ["POST", "/tasks/x/pushNotificationConfigs/c", "GET, DELETE"],
    ["POST", "/extendedAgentCard", "GET"],
  ])("HTTP_JSON-URL-002 does not take %s at %s", async (method, path, allowed) => {
    const response = await ask(method, path);
    expect([response.status, response.headers.get("allow")]).toEqual([405, allowed]);
  });

  // Specification 1.0.1 §11.1 has a type of its own; 1.0.0, which the kit is of, has plain JSON. Who asks for that gets it.
  it("HTTP_JSON-SVC-001 answers in the type of A2A, and in plain JSON to who accepts that", async () => {
    for (const [accept, type] of [
      ["*/*", "application/a2a+json"],
      ["application/json", "application/json"],
    ]) {
      for (const [method, path, body] of [
        ["POST", "/message:send", said("tck-complete-task")],
        ["GET", "/tasks/no-such-task", undefined],
      ]) {
        const response = await ask(method, path, body, { Accept: accept });
        expect(response.headers.get("content-type")).toBe(type);
      }
    }
    for (const type of ["application/a2a+json", "application/json", "Application/JSON; charset=utf-8"]) {
      const response = await ask("POST", "/message:send", said("tck-complete-task"), { "Content-Type": type });
      expect(response.status).toBe(200);
    }
  });

  it("HTTP_JSON-SVC-002 reads what is about the service from headers", async () => {
    const [known] = (await agent.call("GetExtendedAgentCard")).capabilities.extensions;
    const headers = { "A2A-Extensions": `https://example.com/unknown/v1, ${known.uri}` };
    const response = await ask("POST", "/message:send", said("tck-complete-task"), headers);
    expect([response.status, response.headers.get("a2a-extensions")]).toEqual([200, known.uri]);
    const refused = await ask("GET", "/tasks", undefined, { "A2A-Version": "9.9" });
    expect(refused.status).toBe(400);
  });

  it("HTTP_JSON-QP-001 reads params from a query, by their names in camel case", async () => {
    const { contextId, tasks } = await three(agent, "tck-artifact-text");
    const list = (query: object): Promise<Wire> =>
      read("GET", `/tasks?${new URLSearchParams({ contextId, ...query })}`);
    const first = await list({ pageSize: "2" });
    expect([first.tasks.length, first.pageSize, first.totalSize]).toEqual([2, 2, 3]);
    expect((await list({ pageSize: "2", pageToken: first.nextPageToken })).tasks).toHaveLength(1);
    expect((await list({ status: "TASK_STATE_FAILED" })).tasks).toEqual([]);
    const after = new Date(Date.parse(tasks[2].status.timestamp) + 1).toISOString();
    expect((await list({ statusTimestampAfter: after })).tasks).toEqual([]);
    const [whole] = (await list({ includeArtifacts: "true", historyLength: "1" })).tasks;
    expect([whole.artifacts.length, whole.history.length]).toEqual([1, 1]);
    expect(await read("GET", `/tasks/${tasks[0].id}?historyLength=0`)).not.toHaveProperty("history");
  });

  it("HTTP_JSON-ERR-001 writes an error as google.rpc.Status", async () => {
    const response = await ask("GET", "/tasks/no-such-task");
    expect(await response.json()).toEqual({
      error: {
        code: response.status,
        status: "NOT_FOUND",
        message: expect.stringMatching(/./),
        details: expect.any(Array),
      },
    });
  });

  it("HTTP_JSON-ERR-002 says in the details, for programs, which error it is", async () => {
    const { error } = await read("GET", "/tasks/no-such-task");
    expect(error.details).toEqual([
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
    ]);
  });

  // The table of specification 1.0.1 §5.4, where a task that cannot be canceled is a 400; the kit, of 1.0.0, has 409 for it.
  it("HTTP_JSON-STATUS-001 has for each error the status of the table", async () => {
    const { id } = await begun(agent, "tck-complete-task");
    const answers = {
      TASK_NOT_FOUND: await ask("GET", "/tasks/no-such-task"),
      TASK_NOT_CANCELABLE: await ask("POST", `/tasks/${id}:cancel`),
      UNSUPPORTED_OPERATION: await ask("POST", `/tasks/${id}:subscribe`),
      CONTENT_TYPE_NOT_SUPPORTED: await ask("POST", "/message:send", said("send", { parts: [{ raw: "AAEC" }] })),
      VERSION_NOT_SUPPORTED: await ask("GET", `/tasks/${id}`, undefined, { "A2A-Version": "9.9" }),
      METHOD_NOT_FOUND: await ask("GET", "/nothing"),
      INVALID_PARAMS: await ask("GET", "/tasks?pageSize=0"),
    };
    for (const [reason, response] of Object.entries(answers)) {
      const [, status] = ERRORS[reason as keyof typeof answers];
      const { error } = (await response.json()) as Wire;
      expect([error.details[0].reason, response.status, error.code]).toEqual([reason, status, status]);
    }
  });

  // Of the request's own type: 415 as in the kit and in HTTP; specification 1.0.1 §5.4 has 400, meaning that of a part.
  it("HTTP_JSON-STATUS-001 takes no body of another type", async () => {
    const response = await ask("POST", "/message:send", said("tck-complete-task"), { "Content-Type": "text/plain" });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ error: { details: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] } });
  });

  it("HTTP_JSON-SSE-001 streams events as they are, as Server-Sent Events", async () => {
    const response = await ask("POST", "/message:stream", said("tck-artifact-text"));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const members: string[] = [];
    for await (const { type, data } of eventsOf(response.body as unknown as AsyncIterable<Uint8Array>)) {
      expect([type, Object.keys(data)]).toEqual([
        "message",
        [expect.stringMatching(/^(task|statusUpdate|artifactUpdate)$/)],
      ]);
      members.push(...Object.keys(data));
    }
    expect(members[0]).toBe("task");
    expect(members).toContain("artifactUpdate");
  });
}
