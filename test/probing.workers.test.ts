import { createExecutionContext, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { revisionsOf } from "../src/mcp/era";
import { encodeTaskId, mintTaskId, randomTaskId } from "../src/task-id";
import fixtureWorker from "./fixtures/worker";
import { envelope, headersFor, only, withEverything, type Wire } from "./support/mcp";

const CLASSES = ["TASKS", "OWNERS", "DIRECTORY", "SESSIONS", "KEYS", "MEMORY"] as const;

/** The objects' namespaces, counting each object that is asked for. */
function counted() {
  let reached = 0;
  const watched = (namespace: DurableObjectNamespace): unknown =>
    new Proxy(namespace, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name === "get" || name === "getByName") reached += 1;
        return member.bind(target) as unknown;
      },
    });
  const all = Object.fromEntries(
    CLASSES.map((name) => [name, watched(env[name] as unknown as DurableObjectNamespace)]),
  );
  return { bindings: { ...env, ...all }, reached: () => reached };
}

const stored = async (): Promise<readonly string[]> =>
  (await Promise.all(CLASSES.map((name) => listDurableObjectIds(env[name] as unknown as DurableObjectNamespace))))
    .flat()
    .map(String)
    .sort();

it("wakes and creates no object by guessing ids, two hundred of each kind in each revision with tasks (P05)", async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  const { bindings, reached } = counted();
  const post = (headers: Headers, body: object): Promise<Response> => {
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    return fixtureWorker.fetch(request as never, bindings as never, createExecutionContext());
  };
  const modern = (method: string, params: Wire): Promise<Response> =>
    post(headersFor(method, params), {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: envelope(withEverything) },
    });
  const headers = new Headers({ "Content-Type": "application/json", Accept: "application/json, text/event-stream" });
  const legacy = (method: string, params: Wire): Promise<Response> =>
    post(headers, { jsonrpc: "2.0", id: 1, method, params });
  const [protocolVersion] = revisionsOf("legacy");
  const clientInfo = { name: "test", version: "1" };
  const begun = await legacy("initialize", { protocolVersion, capabilities: {}, clientInfo });
  headers.set("Mcp-Session-Id", begun.headers.get("mcp-session-id") as string);
  // A task that is there: what follows is no question of whether the server works.
  const call = { name: "slow", arguments: { ms: 0 } };
  const { taskId } = (await only(await modern("tools/call", call))).result;
  expect((await only(await modern("tasks/get", { taskId }))).result.taskId).toBe(taskId);
  expect(reached()).toBeGreaterThan(0);

  const places = Array.from({ length: 200 });
  const guesses: Readonly<Record<string, readonly string[]>> = {
    random: places.map(() => randomTaskId((bytes) => crypto.getRandomValues(bytes))),
    "of another class": places.map(() => mintTaskId(() => env.OWNERS.newUniqueId().toString())),
    "by a name": places.map((_, n) => encodeTaskId(env.OWNERS.idFromName(`guess ${n}`).toString())),
    "of that task, but for one digit": places.map((_, n) => altered(taskId, n)),
  };
  const [before, reachedBefore] = [await stored(), reached()];
  for (const [kind, ids] of Object.entries(guesses)) {
    for (const send of [modern, legacy]) {
      const answers = await Promise.all(
        ids.map(async (id) => JSON.stringify(await only(await send("tasks/get", { taskId: id })))),
      );
      expect([kind, ...new Set(answers)]).toEqual([kind, expect.stringContaining('"code":-32602')]);
    }
    const [id] = ids as [string];
    for (const method of ["tasks/update", "tasks/cancel"])
      expect((await only(await modern(method, { taskId: id, inputResponses: {} }))).error.code).toBe(-32602);
    expect((await only(await legacy("tasks/result", { taskId: id }))).error.code).toBe(-32602);
    const followed = await only(
      await modern("subscriptions/listen", { notifications: { taskIds: ids.slice(0, 100) } }),
    );
    expect(followed.result.resultType).toBe("complete");
  }
  expect(reached()).toBe(reachedBefore);
  expect(await stored()).toEqual(before);
  vi.restoreAllMocks();
});

/** Neither the first character, which may not be `-`, nor the last, not all of whose bits count. */
function altered(id: string, n: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at = 1 + (n % (id.length - 2));
  const other = alphabet.charAt((alphabet.indexOf(id.charAt(at)) + 1 + (n % 62)) % 64);
  return id.slice(0, at) + other + id.slice(at + 1);
}
