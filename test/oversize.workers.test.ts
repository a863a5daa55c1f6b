import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import fixtureWorker from "./fixtures/worker";
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
