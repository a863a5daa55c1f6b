import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { decodeTaskId } from "../src/task-id";
import fixtureWorker from "./fixtures/worker";
import { envelope, headersFor, only, withEverything, type Wire } from "./support/mcp";

const TOKEN = "a-bearer-string-that-is-no-name";

const STORE = "/store/v1";

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => void vi.restoreAllMocks());

const digestOf = async (text: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();

/** The Worker with one caller, whose bearer string this is. */
async function serverFor(scope: "client" | "worker", token = TOKEN) {
  const AUTH_TOKENS = JSON.stringify([{ sha256: await digestOf(token), subject: "somebody", scopes: [scope] }]);
  const fetch = (path: string, init: RequestInit): Promise<Response> =>
    fixtureWorker.fetch(
      new Request(`http://localhost${path}`, init) as never,
      { ...env, AUTH_TOKENS } as never,
      createExecutionContext(),
    );
  const call = async (method: string, params: Wire): Promise<Wire> => {
    const headers = headersFor(method, params, token);
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(withEverything) } };
    return only(await fetch("/mcp", { method: "POST", headers, body: JSON.stringify(message) }));
  };
  const store = async (method: string, path: string, body?: object): Promise<Wire> => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const response = await fetch(STORE + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    return { status: response.status, body: await response.json() };
  };
  return { fetch, call, store };
}

it("is known to the task by whose it is, and is itself kept nowhere (F05)", async () => {
  const { call } = await serverFor("client");
  const { taskId } = (await call("tools/call", { name: "ask", arguments: { keys: ["k"] } })).result;
  await vi.waitUntil(async () => (await call("tasks/get", { taskId })).result.status === "input_required", {
    timeout: 10_000,
  });

  const task = await kept(env.TASKS as never, decodeTaskId(taskId) as string);
  const owners = await Promise.all(
    (await listDurableObjectIds(env.OWNERS as never)).map((id) => kept(env.OWNERS as never, String(id))),
  );
  expect(task).toContain("somebody");
  expect(owners.join("")).toContain(taskId);
  expect(printed.join("")).toContain(taskId);
  for (const text of [task, ...owners, ...printed]) {
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(await digestOf(TOKEN));
  }
});

describe("over the store API", () => {
  it("says whose a record is and who claims, and is itself kept nowhere (F05)", async () => {
    const client = await serverFor("client");
    const made = await client.store("POST", "/namespaces/default/records", { id: "r", document: { a: 1 } });
    expect(made).toMatchObject({ status: 201, body: { owner: '["holdfast:token","somebody"]' } });
    const { taskId } = (await client.call("tools/call", { name: "remote", arguments: {} })).result;
    const worker = await serverFor("worker");
    const wish = { claimId: "c", worker: "by-this-name", waitMs: 20_000 };
    const { claims } = (await worker.store("POST", "/queues/remote/claims", wish)).body;
    expect(claims).toMatchObject([{ taskId, owner: '["holdfast:token","somebody"]' }]);
    const { lease } = claims[0];
    expect(await worker.store("POST", `/work/${taskId}/heartbeat`, { lease })).toMatchObject({ status: 200 });
    const tool = { description: "Does it.", inputSchema: { type: "object" }, queue: "remote" };
    expect(await worker.store("PUT", "/tools/declared", tool)).toMatchObject({ status: 200 });
    expect((await worker.store("POST", "/work/x/heartbeat", { lease })).status).toBe(404);

    const texts: Record<string, string> = {};
    for (const name of ["RECORDS", "OWNERS", "TASKS", "QUEUES", "TOOLS"] as const) {
      const ids = await listDurableObjectIds(env[name] as never);
      texts[name] = (await Promise.all(ids.map((id) => kept(env[name] as never, String(id))))).join("");
    }
    const { RECORDS, TASKS, TOOLS } = texts;
    expect(RECORDS).toContain("somebody");
    expect(TASKS).toContain("by-this-name");
    expect(TOOLS).toContain("declared");
    expect(printed.join("")).toContain("not_found");
    for (const text of [...Object.values(texts), ...printed]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(await digestOf(TOKEN));
    }
  });

  it("reaches no object where it is missing, empty or wrong (F02)", async () => {
    const { call } = await serverFor("client");
    const { taskId } = (await call("tools/call", { name: "remote", arguments: {} })).result;
    const none = () => {
      throw new Error("An object was asked for.");
    };
    const namespaces = ["TASKS", "OWNERS", "DIRECTORY", "QUEUES", "RECORDS", "TOOLS", "KEYS", "RUNNERS"] as const;
    const watched = namespaces.map((name) => [name, new Proxy(env[name] as object, { get: none })]);
    const AUTH_TOKENS = JSON.stringify([{ sha256: await digestOf(TOKEN), subject: "somebody", scopes: ["worker"] }]);
    const bindings = { ...env, ...Object.fromEntries(watched), AUTH_TOKENS };
    const requests: readonly (readonly [string, string, object?])[] = [
      ["POST", "/queues/remote/claims", { claimId: "c" }],
      ["POST", `/work/${taskId}/heartbeat`, { lease: "x" }],
      ["POST", "/namespaces/default/records", {}],
      ["GET", "/namespaces/default/records"],
      ["GET", "/namespaces/default/records/r"],
      ["GET", "/tools"],
    ];
    const told = new Set<string>();
    for (const [method, path, body] of requests) {
      for (const credential of [null, "", "Bearer ", "Bearer another", "Bearer", TOKEN]) {
        const headers = new Headers({ "Content-Type": "application/json" });
        if (credential !== null) headers.set("Authorization", credential);
        const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
        const request = new Request(`http://localhost${STORE}${path}`, init);
        const response = await fixtureWorker.fetch(request as never, bindings as never, createExecutionContext());
        told.add(JSON.stringify([response.status, [...response.headers], await response.text()]));
      }
    }
    expect(told.size).toBe(1);
    expect([...told][0]).toMatch(/^\[401,.*www-authenticate.*Bearer/);
  });

  it("of a worker is worth nothing for a task that runs here, and was never in a queue (F03)", async () => {
    const client = await serverFor("client");
    const { taskId } = (await client.call("tools/call", { name: "ask", arguments: { keys: ["k"] } })).result;
    await vi.waitUntil(async () => (await client.call("tasks/get", { taskId })).result.status === "input_required", {
      timeout: 10_000,
    });
    const worker = await serverFor("worker");
    const missing = await worker.store("POST", "/work/none/heartbeat", { lease: "x" });
    expect(missing.status).toBe(404);
    expect(await worker.store("POST", `/work/${taskId}/heartbeat`, { lease: "x" })).toEqual(missing);
  });
});

/** All rows of all tables of an object. */
const kept = (namespace: DurableObjectNamespace, id: string): Promise<string> =>
  runInDurableObject(namespace.get(namespace.idFromString(id)), (_, { storage }) => {
    const tables = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.filter(({ name }) => !name.startsWith("_cf_") && !name.startsWith("sqlite_"));
    return JSON.stringify(
      own.map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray()),
      (_key, value) => (value instanceof ArrayBuffer ? new TextDecoder().decode(value) : value),
    );
  });
