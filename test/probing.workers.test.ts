import { createExecutionContext, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LEGACY } from "../src/mcp/era";
import { encodeTaskId, mintTaskId, randomTaskId } from "../src/task-id";
import fixtureWorker from "./fixtures/worker";
import { fixtureCallers } from "./support/fixture-callers";
import { envelope, headersFor, only, withEverything, type Wire } from "./support/mcp";

const CLASSES = [
  "TASKS",
  "OWNERS",
  "DIRECTORY",
  "SESSIONS",
  "KEYS",
  "QUEUES",
  "RECORDS",
  "TOOLS",
  "RUNNERS",
  "MEMORY",
] as const;
type Class = (typeof CLASSES)[number];

/** The objects' namespaces, counting each object that is asked for; of all classes, or of these. */
function counted() {
  const reached: Class[] = [];
  const watched = (of: Class, namespace: DurableObjectNamespace): unknown =>
    new Proxy(namespace, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        if (name === "get" || name === "getByName") reached.push(of);
        return member.bind(target) as unknown;
      },
    });
  const all = Object.fromEntries(
    CLASSES.map((name) => [name, watched(name, env[name] as unknown as DurableObjectNamespace)]),
  );
  const count = (...of: readonly Class[]): number =>
    of.length === 0 ? reached.length : reached.filter((name) => of.includes(name)).length;
  return { bindings: { ...env, ...all }, reached: count };
}

const stored = async (): Promise<readonly string[]> =>
  (await Promise.all(CLASSES.map((name) => listDurableObjectIds(env[name] as unknown as DurableObjectNamespace))))
    .flat()
    .map(String)
    .sort();

/** The objects that keep something, a row or an alarm: one that was only asked is free, and forgotten. */
async function keeping(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of CLASSES) {
    const namespace = env[name] as unknown as DurableObjectNamespace;
    for (const id of await listDurableObjectIds(namespace)) {
      const kept = await runInDurableObject(namespace.get(id), async (_, { storage }) => [
        ...storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
        ...(await storage.list()),
        await storage.getAlarm(),
      ]);
      if (kept.some((one) => one !== null)) found.push(`${name} ${String(id)}`);
    }
  }
  return found.sort();
}

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
  const [protocolVersion] = LEGACY;
  const clientInfo = { name: "test", version: "1" };
  const begun = await legacy("initialize", { protocolVersion, capabilities: {}, clientInfo });
  headers.set("Mcp-Session-Id", begun.headers.get("mcp-session-id") as string);
  // A task that is there: what follows is no question of whether the server works.
  const call = { name: "slow", arguments: { ms: 0 } };
  const { taskId } = (await only(await modern("tools/call", call))).result;
  expect((await only(await modern("tasks/get", { taskId }))).result.taskId).toBe(taskId);
  expect(reached()).toBeGreaterThan(0);

  const guesses = guessesOf(taskId, 200);
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

function guessesOf(id: string, count: number): Readonly<Record<string, readonly string[]>> {
  const places = Array.from({ length: count });
  return {
    random: places.map(() => randomTaskId((bytes) => crypto.getRandomValues(bytes))),
    "of another class": places.map(() => mintTaskId(() => env.OWNERS.newUniqueId().toString())),
    "by a name": places.map((_, n) => encodeTaskId(env.OWNERS.idFromName(`guess ${n}`).toString())),
    "of what is there, but for one digit": places.map((_, n) => altered(id, n)),
  };
}

describe("the store API", () => {
  async function served() {
    const { bindings, reached } = counted();
    return { ...(await fixtureCallers(bindings)), reached };
  }

  const RECORD_ACTS: readonly (readonly [method: string, below: string, body?: object | undefined, accept?: string])[] =
    [
      ["GET", ""],
      ["PUT", "", { document: {} }],
      ["PATCH", "", { document: { a: 1 } }],
      ["DELETE", ""],
      ["PUT", "/status", { status: "failed" }],
      ["PUT", "/questions", { inputRequests: { q: {} } }],
      ["POST", "/responses", { inputResponses: { q: {} } }],
      ["POST", "/cancel"],
      ["GET", "/events"],
      ["GET", "/events?waitMs=30000"],
      ["GET", "/events", undefined, "text/event-stream"],
      ["GET", "/revisions"],
    ];

  const WORK_ACTS: readonly (readonly [act: string, more: object])[] = [
    ["heartbeat", {}],
    ["progress", { progress: { message: "m" } }],
    ["ask", { questions: { q: { method: "roots/list", params: {} } } }],
    ["complete", { result: {} }],
    ["fail", { error: { message: "m" } }],
    ["release", {}],
  ];

  beforeEach(() => void vi.spyOn(console, "log").mockImplementation(() => {}));
  afterEach(() => void vi.restoreAllMocks());

  it("wakes no record and stores nothing for ids that nobody stored, at any of its doors (P05)", async () => {
    const { store, reached } = await served();
    const { id } = (await store("owner-a", "POST", "/namespaces/default/records", { body: {} })).body;
    expect((await store("owner-a", "GET", `/namespaces/default/records/${id}`)).status).toBe(200);
    expect(reached("RECORDS")).toBeGreaterThan(0);

    const named = Array.from({ length: 10 }, (_, n) => `a guess/${n}`);
    const guesses = { ...guessesOf(id, 10), "of the caller's choice": named };
    const [before, reachedBefore] = [await keeping(), reached("RECORDS")];
    const doors = [
      ["owner-b", "default", ""],
      ["worker", "default", "any=true"],
      ["worker", "default", "unowned=true"],
      ["worker", "default", "owner=an%20owner%20of%20nothing"],
      ["worker", "strict", ""],
      ["worker", "files", "any=true"],
      ["admin", "documents", "owner=an%20owner%20of%20nothing"],
    ] as const;
    for (const [as, namespace, whose] of doors) {
      for (const ids of Object.values(guesses)) {
        const told = new Map<string, Set<string>>();
        for (const [nth, guess] of ids.entries()) {
          for (const [method, below, body, accept = "*/*"] of nth === 0 ? RECORD_ACTS : RECORD_ACTS.slice(0, 1)) {
            // A document is saved whether or not it is there.
            if (method === "PUT" && below === "" && namespace !== "default" && namespace !== "strict") continue;
            const query = whose && `${below.includes("?") ? "&" : "?"}${whose}`;
            const path = `/namespaces/${namespace}/records/${encodeURIComponent(guess)}${below}${query}`;
            const { status, text } = await store(as, method, path, { body, headers: { Accept: accept } });
            const which = `${method} ${below} ${accept}`;
            told.set(which, (told.get(which) ?? new Set()).add(`${status} ${text}`));
          }
        }
        for (const [which, answers] of told) {
          expect([as, namespace, whose, which, answers.size]).toEqual([as, namespace, whose, which, 1]);
          expect([...answers][0]).toMatch(/^(404|403|405) |"removed":false/);
        }
      }
      expect(reached("RECORDS")).toBe(reachedBefore);
      expect(await keeping()).toEqual(before);
    }
  });

  it("wakes no task and stores nothing for task ids that are none (P05)", async () => {
    const { store, start, claim, reached } = await served();
    const taskId = await start("remote");
    const { lease, ...work } = await claim();
    expect(work.taskId).toBe(taskId);
    const guesses = { ...guessesOf(taskId, 20), "of the caller's choice": ["x", "a/b", "%", "..%2f"] };
    const [before, reachedBefore] = [await keeping(), reached()];
    const told = new Set<string>();
    for (const guess of Object.values(guesses).flat()) {
      for (const [act, more] of WORK_ACTS) {
        const path = `/work/${encodeURIComponent(guess)}/${act}`;
        const { status, text } = await store("worker", "POST", path, { body: { lease, ...more } });
        told.add(`${status} ${text}`);
      }
    }
    expect(told.size).toBe(1);
    expect([...told][0]).toMatch(/^404 /);
    expect(reached()).toBe(reachedBefore);
    expect(await keeping()).toEqual(before);
  });

  it("stores nothing for names of queues, tools, owners and namespaces that nobody used (P05)", async () => {
    const { store } = await served();
    const before = await keeping();
    for (let n = 0; n < 20; n += 1) {
      const name = `guess-${n}`;
      const wish = { claimId: name, waitMs: n % 5 === 0 ? 10 : 0 };
      const maxRows = { id: name, maxRows: 0 };
      const answers = [
        await store("worker", "POST", `/queues/${name}/claims`, { body: wish }),
        await store("worker", "GET", `/tools/${name}`),
        await store("worker", "DELETE", `/tools/${name}`),
        await store("worker", "GET", "/tools"),
        await store("worker", "GET", `/namespaces/default/records?owner=${name}`),
        await store("admin", "POST", `/namespaces/default/cleanup?owner=${name}`, { body: { defaultTtlMs: 0 } }),
        await store("admin", "POST", `/namespaces/${name}/records`, { body: {} }),
        await store("worker", "POST", `/namespaces/strict/records?owner=${name}`, { body: maxRows }),
      ];
      expect(answers.map(({ status, text }) => [status, text.trim()])).toEqual([
        [200, '{"claims":[]}'],
        [404, expect.any(String)],
        [200, '{"removed":false}'],
        [200, '{"tools":[]}'],
        [200, '{"records":[],"nextCursor":null}'],
        [200, '{"removed":0,"more":false}'],
        [404, expect.any(String)],
        [429, expect.any(String)],
      ]);
    }
    expect(await keeping()).toEqual(before);
  });
});

/** Neither the first character, which may not be `-`, nor the last, not all of whose bits count. */
function altered(id: string, n: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at = 1 + (n % (id.length - 2));
  const other = alphabet.charAt((alphabet.indexOf(id.charAt(at)) + 1 + (n % 62)) % 64);
  return id.slice(0, at) + other + id.slice(at + 1);
}
