import { beforeAll, describe, expect, it } from "vitest";
import { operationsOf } from "../../src/store-api/routes";
import { serveStore, type SendOptions, type StoreServed } from "../support/store";

let served: StoreServed;
beforeAll(async () => {
  served = await serveStore({ config: { maxBodyBytes: 10_000, maxJsonDepth: 16 } });
});

const RECORDS = "/namespaces/default/records";

async function refused(method: string, path: string, options: SendOptions = {}) {
  const { status, body } = await served.call(method, path, options);
  return [status, body.error.code, body.error.message];
}

describe("a body", () => {
  it("must say that it is JSON, once the caller is known", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "", null]) {
      const headers = { "Content-Type": type };
      expect((await refused("POST", RECORDS, { text: "{}", headers }))[0], String(type)).toBe(415);
      expect((await refused("POST", RECORDS, { as: "wrong", text: "{}", headers }))[0]).toBe(401);
    }
    const { status } = await served.call("POST", RECORDS, {
      text: "{}",
      headers: { "Content-Type": "Application/JSON; charset=utf-8" },
    });
    expect(status).toBe(201);
  });

  it("longer than MAX_BODY_BYTES gets 413, also when nobody said how long it is", async () => {
    const text = JSON.stringify({ document: { a: "x".repeat(10_000) } });
    expect(await refused("POST", RECORDS, { text })).toEqual([
      413,
      "too_large",
      expect.stringContaining("MAX_BODY_BYTES (10000 bytes)"),
    ]);
  });

  it.each([
    ["no JSON", '{"id":'],
    ["nothing", " "],
    ["a key twice", '{"id":"a","id":"b"}'],
    ["a key twice, deep in the caller's own", '{"document":{"a":{"b":1,"b":2}}}'],
    ["nesting that is too deep", `{"document":{"a":${"[".repeat(20)}${"]".repeat(20)}}}`],
    ["a trailing comma", '{"id":"a",}'],
  ])("of %s gets 400 and a sentence", async (_, text) => {
    expect(await refused("POST", RECORDS, { text })).toEqual([
      400,
      "invalid",
      expect.stringMatching(/^The body .*\.$/),
    ]);
  });

  it("that is not UTF-8 gets 400", async () => {
    const response = await served.app.request(`http://localhost/store/v1${RECORDS}`, {
      method: "POST",
      headers: { Authorization: "Bearer ann", "Content-Type": "application/json" },
      body: Uint8Array.from([0x22, 0xff, 0x22]),
    });
    expect(response.status).toBe(400);
  });

  it.each<[unknown, string]>([
    [[], "body must be an object."],
    ["x", "body must be an object."],
    [{ id: 7 }, "body.id must be a string."],
    [{ ttlMs: -1 }, "body.ttlMs must be at least 0."],
    [{ ttlMs: 1.5 }, "body.ttlMs must be an integer."],
    [{ ttlMs: 2 ** 60 }, expect.stringContaining("body.ttlMs must be")],
    [{ ttlMS: 1 }, 'body does not know "ttlMS".'],
    [{ document: [] }, "body.document: must be an object."],
    [{ document: null }, "body.document: must be an object."],
    [{ maxRows: "2" }, "body.maxRows must be a number."],
    [
      { task: { status: "done" } },
      'body.task.status must be "working", "input_required", "completed", "failed" or "cancelled".',
    ],
    [{ task: { state: "x" } }, 'body.task does not know "state".'],
    [{ task: { inputRequests: [] } }, "body.task.inputRequests: must be an object."],
    [{ task: { pollIntervalMs: 0 } }, "body.task.pollIntervalMs must be at least 1."],
  ])("%j is told what is wrong with it", async (body, message) => {
    expect(await refused("POST", RECORDS, { body })).toEqual([400, "invalid", message]);
  });

  it("lacks nothing that it must have", async () => {
    expect((await refused("PUT", `${RECORDS}/x`, { body: {} }))[2]).toBe("body.document: must be an object.");
    expect((await refused("PUT", `${RECORDS}/x/status`, { body: {} }))[2]).toContain("body.status must be");
    expect((await refused("PUT", `${RECORDS}/x/questions`, { body: {} }))[0]).toBe(400);
    expect((await refused("POST", `${RECORDS}/x/responses`, { body: {} }))[0]).toBe(400);
    expect(
      (await refused("PUT", `${RECORDS}/x/status`, { body: { status: "failed", task: { status: "failed" } } }))[2],
    ).toBe('body.task does not know "status".');
  });
});

describe("a query", () => {
  it.each(["limit=0", "limit=-1", "limit=1.5", "limit=x", "limit=", "status=done", "page=2", "ower=a", "cursor=x"])(
    "%s is refused",
    async (query) => {
      expect((await refused("GET", `${RECORDS}?${query}`)).slice(0, 2)).toEqual([400, "invalid"]);
    },
  );

  it("may not name the same thing twice", async () => {
    expect((await refused("GET", `${RECORDS}?limit=1&limit=2`))[0]).toBe(400);
  });

  it.each(["after=-1", "after=x", "waitMs=30001", "waitMs=-1"])("%s is refused for events", async (query) => {
    expect((await refused("GET", `${RECORDS}/x/events?${query}`)).slice(0, 2)).toEqual([400, "invalid"]);
  });
});

describe("a condition", () => {
  it("that is not understood is refused, and nothing is written under it", async () => {
    await served.call("POST", RECORDS, { body: { id: "conditional" } });
    const path = `${RECORDS}/conditional`;
    const tries: readonly (readonly [string, string, SendOptions])[] = [
      ["PUT", path, { body: { document: {} }, headers: { "If-None-Match": "*" } }],
      ["PUT", path, { body: { document: {} }, headers: { "If-Unmodified-Since": "Tue, 01 Dec 2026 00:00:00 GMT" } }],
      ["PUT", path, { body: { document: {} }, headers: { "If-Match": '"1", "2"' } }],
      ["PUT", path, { body: { document: {} }, headers: { "If-Match": "1" } }],
      ["PATCH", path, { body: { document: {} }, headers: { "If-Match": '"x"' } }],
      ["DELETE", path, { headers: { "If-Match": '"1"' } }],
      ["POST", `${path}/cancel`, { headers: { "If-Match": '"1"' } }],
      ["PUT", `${path}/status`, { body: { status: "failed" }, headers: { "If-Match": '"1"' } }],
    ];
    for (const [method, at, options] of tries) {
      expect((await refused(method, at, options)).slice(0, 2), `${method} ${at}`).toEqual([400, "invalid"]);
    }
    expect((await served.call("GET", path)).body.version).toBe(1);
  });
});

describe("an address", () => {
  it("takes its own methods, and says which", async () => {
    const byPath = Map.groupBy(operationsOf(served.deps), ({ path }) => path);
    for (const [path, operations] of byPath) {
      const address = path.replaceAll(/:\w+/g, "x");
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        if (operations.some((operation) => operation.method === method)) continue;
        const { status, body, headers } = await served.call(method, address);
        expect([status, body.error.code], `${method} ${address}`).toEqual([405, "method_not_allowed"]);
        expect(headers.get("allow")).toBe(operations.map((operation) => operation.method).join(", "));
      }
    }
  });

  it("that is none gets 404", async () => {
    for (const path of ["", "/", "/namespaces", "/namespaces/default", "/namespaces/default/records/x/y", "/work/x"]) {
      expect((await refused("GET", path, { as: "root" })).slice(0, 2), path).toEqual([404, "not_found"]);
    }
  });

  it("of a stream takes no HEAD", async () => {
    const { status, headers } = await served.call("HEAD", `${RECORDS}/x/events`);
    expect([status, headers.get("allow")]).toEqual([405, "GET"]);
  });
});

it("tells of a failure of its own no more than that there was one", async () => {
  const { app, deps, log } = await serveStore();
  deps.work.claim = () => Promise.reject(new Error("a secret detail"));
  const response = await app.request("http://localhost/store/v1/queues/gpu/claims", {
    method: "POST",
    headers: { Authorization: "Bearer wendy", "Content-Type": "application/json" },
    body: '{"claimId":"c"}',
  });
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: { code: "internal", message: "The server could not answer; its log says why." } },
  ]);
  expect(JSON.stringify(log)).toContain("a secret detail");
});
