import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import fixtureWorker from "./fixtures/worker";
import { fixtureCallers } from "./support/fixture-callers";
import { envelope, headersFor, only, until, withEverything, type Wire } from "./support/mcp";

const MB = 1_000_000;
/** As much as the setting allows. */
const LARGEST = "15728640";
// `printf %s owner-a | sha256sum`
const AUTH_TOKENS = JSON.stringify([
  {
    sha256: "95256875151043abdcafdd26fd390c650d6311e1d7185df477ce50736b6a5d0b",
    subject: "owner-a",
    scopes: ["client"],
  },
]);

beforeEach(() => void vi.spyOn(console, "log").mockImplementation(() => {}));
afterEach(() => void vi.restoreAllMocks());

/** A caller of both eras. */
async function caller(vars: object = {}) {
  const fetch = async (headers: Headers, body: object): Promise<Response> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const request = new Request("http://localhost/mcp", init);
    return fixtureWorker.fetch(request as never, { ...env, AUTH_TOKENS, ...vars } as never, createExecutionContext());
  };
  const modern = (method: string, params: Wire): Promise<Response> =>
    fetch(headersFor(method, params, "owner-a"), {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: envelope(withEverything) },
    });
  const headers = new Headers({
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    Authorization: "Bearer owner-a",
  });
  const legacy = (method: string, params: Wire): Promise<Response> =>
    fetch(headers, { jsonrpc: "2.0", id: 1, method, params });
  const clientInfo = { name: "test", version: "1" };
  const begun = await legacy("initialize", { protocolVersion: "2025-11-25", capabilities: { tasks: {} }, clientInfo });
  headers.set("Mcp-Session-Id", begun.headers.get("mcp-session-id") as string);
  const count = async (): Promise<number> => (await only(await legacy("tasks/list", {}))).result.tasks.length;
  return { modern, legacy, count };
}

/** Nothing that could be cut or padded without its being seen. */
const textOf = (bytes: number): string => `<${"0123456789".repeat(bytes / 10 - 1)}00000000>`;

it.each([
  [1.9, {}],
  [2.1, {}],
  [10, { MAX_BODY_BYTES: LARGEST }],
])("an argument of %s MB reaches its tool whole, and so does what comes of it (D16)", async (size, vars) => {
  const { modern, legacy, count } = await caller(vars);
  const text = textOf(size * MB);
  const before = await count();
  const call = { name: "slow", arguments: { ms: 0, text } };
  const made = (await only(await modern("tools/call", call))).result.taskId as string;
  const { result } = await until(
    async () => (await only(await modern("tasks/get", { taskId: made }))).result as Wire,
    ({ status }: Wire) => status !== "working",
  );
  expect(result.content[0].text === text).toBe(true);
  const { task } = (await only(await legacy("tools/call", { ...call, task: {} }))).result;
  const payload = await only(await legacy("tasks/result", { taskId: task.taskId }));
  expect(payload.result.content[0].text === text).toBe(true);
  const plain = await only(await modern("tools/call", { name: "plain", arguments: { x: text } }));
  expect(plain.result.content[0].text === JSON.stringify(text)).toBe(true);
  expect((await count()) - before).toBe(2);
});

it.each([
  ["than a body may be", "MAX_BODY_BYTES (4194304 bytes)", 20, {}],
  ["than a task may keep", "RESULT_LIMIT_BYTES (10485760 bytes)", 12, { MAX_BODY_BYTES: LARGEST }],
])("an argument longer %s is 413, names %s, and leaves no task (D16)", async (_, limit, size, vars) => {
  const { modern, legacy, count } = await caller(vars);
  const before = await count();
  const call = { name: "slow", arguments: { ms: 0, text: textOf(size * MB) } };
  for (const response of [await modern("tools/call", call), await legacy("tools/call", { ...call, task: {} })]) {
    const { error } = (await response.json()) as Wire;
    expect([response.status, error.code, error.message]).toEqual([413, 41300, expect.stringContaining(limit)]);
  }
  expect(await count()).toBe(before);
});

describe("over the store API", () => {
  const RECORDS = "/namespaces/default/records";
  const question = (message: string) => ({
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } },
  });

  /** A client, a worker, and a task that the worker has. */
  async function callers(vars: object = {}) {
    const { store, mcp, start, claim } = await fixtureCallers(vars);
    const call = (as: "owner-a" | "worker", method: string, path: string, body?: object) =>
      store(as, method, path, { body });
    const job = async (args: object = {}) => {
      const taskId = await start("remote", args);
      const claimed = await claim();
      expect(claimed.taskId).toBe(taskId);
      const tell = (act: string, more: object) =>
        call("worker", "POST", `/work/${taskId}/${act}`, { lease: claimed.lease, ...more });
      return { taskId, claim: claimed, tell };
    };
    const task = async (taskId: string): Promise<Wire> => (await mcp("tasks/get", { taskId })).result;
    const count = async (): Promise<number> =>
      (await call("owner-a", "GET", `${RECORDS}?limit=100`)).body.records.length;
    return { call, task, job, count };
  }

  it.each([
    [1.9, {}],
    [2.1, {}],
    [10, { MAX_BODY_BYTES: LARGEST }],
  ])("%s MB are kept whole: of a document, of what is asked and answered, of a result (D16)", async (size, vars) => {
    const { call } = await callers(vars);
    const text = textOf(size * MB);
    const same = (value: unknown): boolean => value === text;
    const { status, body } = await call("owner-a", "POST", RECORDS, { document: { text } });
    expect([status, same(body.document.text)]).toEqual([201, true]);
    const path = `${RECORDS}/${body.id}`;
    expect(same((await call("owner-a", "GET", path)).body.document.text)).toBe(true);
    expect((await call("owner-a", "PATCH", path, { document: { text: 1 } })).status).toBe(200);
    expect((await call("owner-a", "PUT", `${path}/questions`, { inputRequests: { q: text } })).status).toBe(200);
    expect(same((await call("owner-a", "GET", path)).body.task.inputRequests.q)).toBe(true);
    const answered = await call("owner-a", "POST", `${path}/responses`, { inputResponses: { q: text } });
    expect([answered.status, same(answered.body.task.inputResponses.q)]).toEqual([200, true]);
    const { entries } = (await call("owner-a", "GET", `${path}/events`)).body;
    expect(same(entries.at(-1).event.response)).toBe(true);
    const made = await call("owner-a", "POST", RECORDS, {});
    const status2 = { status: "completed", task: { result: text } };
    expect((await call("owner-a", "PUT", `${RECORDS}/${made.body.id}/status`, status2)).status).toBe(200);
    expect(same((await call("owner-a", "GET", `${RECORDS}/${made.body.id}`)).body.task.result)).toBe(true);
    const document = { document: { text } };
    const saved = await call("owner-a", "PUT", "/namespaces/documents/records/large", document);
    expect([saved.status < 202, same(saved.body.document.text)]).toEqual([true, true]);
  });

  it.each([
    [1.9, {}],
    [2.1, {}],
    [10, { MAX_BODY_BYTES: LARGEST }],
  ])("%s MB reach a worker whole, and so does what it answers (D16)", async (size, vars) => {
    const { job, task } = await callers(vars);
    const text = textOf(size * MB);
    const { claim, tell, taskId } = await job({ text });
    expect(claim.arguments.text === text).toBe(true);
    const content = [{ type: "text", text }];
    expect(await tell("complete", { result: { content } })).toMatchObject({ status: 200, body: { kind: "settled" } });
    expect((await task(taskId)).result.content[0].text === text).toBe(true);
  });

  const TOO_LONG_A_BODY = ["MAX_BODY_BYTES", 4_194_304, 5, {}] as const;
  const TOO_LONG_A_VALUE = ["RESULT_LIMIT_BYTES", 10_485_760, 12, { MAX_BODY_BYTES: LARGEST }] as const;

  const TOO_LONG_A_RECORD = ["RESULT_LIMIT_BYTES", MB, 2, { RESULT_LIMIT_BYTES: String(MB) }] as const;

  it.each([TOO_LONG_A_BODY, TOO_LONG_A_RECORD])(
    "a record longer than %s (%i) is 413, which names it, and changes nothing (D16)",
    async (limit, value, size, vars) => {
      const { call, count } = await callers(vars);
      const text = textOf(size * MB);
      const { body } = await call("owner-a", "POST", RECORDS, {
        task: { inputRequests: { q: 1 } },
        document: { a: 1 },
      });
      const path = `${RECORDS}/${body.id}`;
      await call("owner-a", "PUT", "/namespaces/documents/records/small", { document: { a: 1 } });
      const before = await count();
      const read = async () => [
        await call("owner-a", "GET", path),
        await call("owner-a", "GET", "/namespaces/documents/records/small"),
        await call("owner-a", "GET", "/namespaces/documents/records/none"),
      ];
      const was = await read();
      const large: readonly (readonly [string, string, object])[] = [
        ["POST", RECORDS, { document: { text } }],
        ["POST", RECORDS, { task: { result: text } }],
        ["POST", RECORDS, { task: { statusMessage: text } }],
        ["PUT", path, { document: { text } }],
        ["PATCH", path, { document: { text } }],
        ["PATCH", path, { task: { error: text } }],
        ["PUT", `${path}/status`, { status: "completed", task: { result: { text } } }],
        ["PUT", `${path}/questions`, { inputRequests: { p: text } }],
        ["POST", `${path}/responses`, { inputResponses: { q: text } }],
        ["PUT", "/namespaces/documents/records/small", { document: { text } }],
        ["PUT", "/namespaces/documents/records/none", { document: { text } }],
      ];
      for (const [method, address, sent] of large) {
        const { status, body: answer } = await call("owner-a", method, address, sent);
        expect([method, address, status, answer.error]).toEqual([
          method,
          address,
          413,
          { code: "too_large", message: expect.stringContaining(`${limit} (${value} bytes)`), data: { limit, value } },
        ]);
      }
      expect(await count()).toBe(before);
      expect(await read()).toEqual(was);
    },
  );

  it("a record may not be merged larger than RESULT_LIMIT_BYTES either (D16)", async () => {
    const { call } = await callers({ RESULT_LIMIT_BYTES: String(3 * MB) });
    const { body } = await call("owner-a", "POST", RECORDS, { document: { a: textOf(2 * MB) } });
    const path = `${RECORDS}/${body.id}`;
    const merged = await call("owner-a", "PATCH", path, { document: { b: textOf(2 * MB) } });
    expect([merged.status, merged.body.error.data]).toEqual([413, { limit: "RESULT_LIMIT_BYTES", value: 3 * MB }]);
    expect((await call("owner-a", "GET", path)).body).toMatchObject({
      version: 1,
      document: { a: expect.any(String) },
    });
  });

  const REPORTS: readonly (readonly [act: string, with_: (text: string) => object])[] = [
    ["complete", (text) => ({ result: { content: [{ type: "text", text }] } })],
    ["ask", (text) => ({ questions: { q: question(text) } })],
    ["fail", (text) => ({ error: { message: "m", data: text } })],
  ];

  it.each(
    [TOO_LONG_A_BODY, TOO_LONG_A_VALUE].flatMap(([limit, value, size, vars]) =>
      REPORTS.map(([act, of]) => ({ act, limit, value, size, vars, of })),
    ),
  )("$act with more than $limit ($value) is 413, which names it, and the worker keeps its task (D16)", async (row) => {
    const { act, limit, value, size, vars, of } = row;
    const { job, task } = await callers(vars);
    const { taskId, tell } = await job();
    const { status, body } = await tell(act, of(textOf(size * MB)));
    expect([status, body.error?.code, body.error?.message]).toEqual([
      413,
      "too_large",
      expect.stringContaining(`${limit} (${value} bytes)`),
    ]);
    expect((await task(taskId)).status).toBe("working");
    expect(await tell("heartbeat", {})).toMatchObject({ status: 200, body: { kind: "held" } });
    expect(await tell("complete", { result: { content: [] } })).toMatchObject({
      status: 200,
      body: { kind: "settled" },
    });
  });

  it("a body of 3 MB is never too much for the storage beneath, whatever it is (D16)", async () => {
    const { call, job, task } = await callers();
    const text = textOf(3 * MB);
    const { tell, taskId } = await job();
    const told: [string, number][] = [];
    const note = ([what, { status }]: readonly [string, { readonly status: number }]): void =>
      void told.push([what, status]);
    note(["a question", await tell("ask", { questions: { q: question(text) } })]);
    note(["progress", await tell("progress", { progress: { message: text } })]);
    note(["an error's data", await tell("fail", { error: { message: "m", data: { text } } })]);
    const failing = await job();
    note(["an error's message", await failing.tell("fail", { error: { message: text } })]);
    const tool = { description: "Does it.", inputSchema: { type: "object", description: text }, queue: "remote" };
    note(["a tool", await call("worker", "PUT", "/tools/large", tool)]);
    note(["a status message", await call("owner-a", "POST", RECORDS, { task: { statusMessage: text } })]);
    note(["an id", await call("owner-a", "POST", RECORDS, { id: text })]);
    note(["a claim id", await call("worker", "POST", "/queues/remote/claims", { claimId: text })]);
    note(["a worker's name", await call("worker", "POST", "/queues/remote/claims", { claimId: "c", worker: text })]);
    note(["names of tools", await call("worker", "POST", "/queues/remote/claims", { claimId: "c", tools: [text] })]);
    note(["a lease", await failing.tell("heartbeat", { lease: text })]);
    expect(told.filter(([, status]) => status >= 500)).toEqual([]);
    expect((await task(taskId)).taskId).toBe(taskId);
    expect((await call("worker", "GET", "/tools")).status).toBe(200);
  });
});
