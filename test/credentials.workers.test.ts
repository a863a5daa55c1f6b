import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { decodeTaskId } from "../src/task-id";
import fixtureWorker from "./fixtures/worker";
import { envelope, headersFor, only, withEverything, type Wire } from "./support/mcp";

const TOKEN = "a-bearer-string-that-is-no-name";

it("is known to the task by whose it is, and is itself kept nowhere (F05)", async () => {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(TOKEN)));
  const AUTH_TOKENS = JSON.stringify([{ sha256: digest.toHex(), subject: "somebody", scopes: ["client"] }]);
  const post = async (headers: Headers, body: object): Promise<Response> => {
    headers.set("Authorization", `Bearer ${TOKEN}`);
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    return fixtureWorker.fetch(request as never, { ...env, AUTH_TOKENS } as never, createExecutionContext());
  };
  const call = async (method: string, params: Wire): Promise<Wire> =>
    only(
      await post(headersFor(method, params), {
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { ...params, _meta: envelope(withEverything) },
      }),
    );
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
    expect(text).not.toContain(digest.toHex());
  }
  vi.restoreAllMocks();
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
