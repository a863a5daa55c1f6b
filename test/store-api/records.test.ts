import { beforeAll, describe, expect, it } from "vitest";
import { serveStore, type Called, type StoreServed } from "../support/store";

let served: StoreServed;
beforeAll(async () => {
  served = await serveStore();
});

const ADMIN = { kind: "identified", issuer: "test", subject: "t", scopes: ["admin"], expiresAt: null } as const;
const RECORDS = "/namespaces/default/records";
const one = (id: string, below = ""): string => `${RECORDS}/${encodeURIComponent(id)}${below}`;
let made = 0;
const fresh = (): string => `record-${++made}`;

async function create(over: object = {}): Promise<Called> {
  const created = await served.call("POST", RECORDS, { body: { id: fresh(), ...over } });
  expect(created.status).toBe(201);
  return created;
}

const etagOf = ({ headers }: Called): string | null => headers.get("etag");

describe("create", () => {
  it("answers 201 with the record, its version as its ETag, and null for what was left out", async () => {
    const { status, body, headers } = await served.call("POST", RECORDS, { body: { id: "first" } });
    expect(status).toBe(201);
    expect(headers.get("etag")).toBe('"1"');
    expect(headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({
      id: "first",
      namespace: "default",
      owner: '["holdfast:token","ann"]',
      version: 1,
      createdAt: expect.any(Number),
      updatedAt: body.createdAt,
      settledAt: null,
      ttlMs: null,
      seq: 1,
      task: {
        status: "working",
        statusMessage: null,
        pollIntervalMs: null,
        inputRequests: {},
        inputResponses: {},
        result: null,
        error: null,
      },
      document: {},
      changed: true,
    });
  });

  it("mints an id where none is given", async () => {
    const { body } = await served.call("POST", RECORDS, { body: {} });
    expect(body.id).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect((await served.call("GET", one(body.id))).status).toBe(200);
  });

  it("takes the fields of a task, and a ttl", async () => {
    const task = {
      status: "input_required",
      statusMessage: "Waits.",
      pollIntervalMs: 1_500,
      inputRequests: { q: { method: "x" } },
      inputResponses: { p: { n: 1 } },
      result: [1],
      error: { code: 1 },
    };
    const { body } = await create({ task, ttlMs: 60_000, document: { a: 1 } });
    expect(body).toMatchObject({ task, ttlMs: 60_000, document: { a: 1 } });
  });

  it("answers 409 for an id in use, and 200 for the same call again under its Idempotency-Key (A4)", async () => {
    const id = fresh();
    const options = { body: { id, document: { n: 1 } }, headers: { "Idempotency-Key": "k1" } };
    const first = await served.call("POST", RECORDS, options);
    const again = await served.call("POST", RECORDS, options);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual({ ...first.body, changed: false });
    const taken = await served.call("POST", RECORDS, { body: { id } });
    expect([taken.status, taken.body.error.code]).toEqual([409, "already_exists"]);
    const other = await served.call("POST", RECORDS, { ...options, body: { id, document: { n: 2 } } });
    expect([other.status, other.body.error.code]).toEqual([409, "conflict"]);
  });

  it("refuses one more than maxRows with 429, and says which limit it was (B4)", async () => {
    const as = "bob";
    for (const n of [1, 2]) {
      expect((await served.call("POST", RECORDS, { as, body: { id: `capped-${n}`, maxRows: 2 } })).status).toBe(201);
    }
    const { status, body } = await served.call("POST", RECORDS, { as, body: { maxRows: 2 } });
    expect(status).toBe(429);
    expect(body.error).toMatchObject({ code: "limit_reached", message: expect.any(String), data: { value: 2 } });
  });
});

describe("get", () => {
  it("answers 304 to whoever has this version already, and 200 once it is another", async () => {
    const { body } = await create();
    const known = { headers: { "If-None-Match": '"1"' } };
    const same = await served.call("GET", one(body.id), known);
    expect([same.status, same.text, etagOf(same)]).toEqual([304, "", '"1"']);
    // A proxy that compressed the answer marks its tag as weak.
    for (const tags of ['W/"1"', '"9", "1"', "*"]) {
      expect((await served.call("GET", one(body.id), { headers: { "If-None-Match": tags } })).status).toBe(304);
    }
    await served.call("PATCH", one(body.id), { body: { document: { a: 1 } } });
    const next = await served.call("GET", one(body.id), known);
    expect([next.status, next.body.document, etagOf(next)]).toEqual([200, { a: 1 }, '"2"']);
  });

  it("answers 404 for what is not there, and says that it is the record", async () => {
    const { status, body } = await served.call("GET", one("nothing"));
    expect([status, body]).toEqual([
      404,
      { error: { code: "not_found", message: "No such record, or it has expired." }, record: null },
    ]);
  });

  it("answers HEAD as GET, without the body", async () => {
    const { body } = await create();
    const head = await served.call("HEAD", one(body.id));
    expect([head.status, head.text, etagOf(head)]).toEqual([200, "", '"1"']);
    expect((await served.call("HEAD", one("nothing"))).status).toBe(404);
  });

  it.each(["t/1", "t_1", "../t", "a b+c", "ä?#%", "%2F", "a\nb", "__proto__"])(
    "finds the record %j, and no other (T9)",
    async (id) => {
      const own = await served.call("POST", RECORDS, { body: { id, document: { id } } });
      expect(own.status).toBe(201);
      expect((await served.call("GET", one(id))).body).toMatchObject({ id, document: { id } });
    },
  );

  it.each([".", ".."])("refuses to create %j, which no URL can name", async (id) => {
    const { status, body } = await served.call("POST", RECORDS, { body: { id } });
    expect([status, body.error.code]).toEqual([400, "invalid"]);
  });

  it("refuses a path that is not percent-encoded as a URL must be", async () => {
    for (const path of ["%zz", "%e0%a4", "a%"]) {
      const { status, body } = await served.call("GET", `${RECORDS}/${path}`);
      expect([status, body.error.code], path).toEqual([400, "invalid"]);
    }
  });
});

describe("put", () => {
  it("replaces the whole record: what is left out is gone, but for status and ttl", async () => {
    const task = { status: "input_required", statusMessage: "x", inputRequests: { q: {} } };
    const { body } = await create({ document: { a: 1, b: 2 }, ttlMs: 60_000, task });
    const put = await served.call("PUT", one(body.id), { body: { document: { b: 3 } } });
    expect([put.status, etagOf(put)]).toEqual([200, '"2"']);
    expect(put.body).toMatchObject({ document: { b: 3 }, ttlMs: 60_000, changed: true, version: 2 });
    expect(put.body.task).toMatchObject({ status: "input_required", statusMessage: null, inputRequests: {} });
  });

  it("takes a record as it was read", async () => {
    const { body } = await create({ document: { a: 1 }, task: { statusMessage: "x" } });
    const read = await served.call("GET", one(body.id));
    const put = await served.call("PUT", one(body.id), { body: { ...read.body, owner: "else", version: 99 } });
    expect(put.body).toMatchObject({ owner: body.owner, version: 2, document: { a: 1 }, task: { statusMessage: "x" } });
  });

  it("writes only on the version it names, and gives the fresh record with 412 (B6)", async () => {
    const { body } = await create();
    const put = (n: number, tag: string) =>
      served.call("PUT", one(body.id), { body: { document: { n } }, headers: { "If-Match": tag } });
    expect((await put(1, '"1"')).status).toBe(200);
    const late = await put(2, '"1"');
    expect([late.status, etagOf(late)]).toEqual([412, '"2"']);
    expect(late.body).toMatchObject({ error: { code: "stale" }, record: { version: 2, document: { n: 1 } } });
    expect((await put(3, 'W/"2"')).status).toBe(200);
    expect((await put(4, "*")).body).toMatchObject({ version: 4, document: { n: 4 } });
  });

  it("needs the record to be there", async () => {
    const body = { document: {} };
    expect((await served.call("PUT", one("nothing"), { body })).status).toBe(404);
    expect((await served.call("PUT", one("nothing"), { body, headers: { "If-Match": "*" } })).status).toBe(404);
  });

  it("keeps a final status: 409 with the record, unchanged (B7)", async () => {
    const { body } = await create({ task: { status: "completed", result: 1 } });
    const moved = await served.call("PUT", one(body.id), { body: { document: {}, task: { status: "working" } } });
    expect(moved.status).toBe(409);
    expect(moved.body).toMatchObject({ error: { code: "terminal" }, record: { version: 1, task: { result: 1 } } });
  });
});

describe("patch", () => {
  it("sets members one by one, on the version it names or on any", async () => {
    const { body } = await create({ document: { a: 1, b: 2 } });
    const patch = (document: object, headers = {}) =>
      served.call("PATCH", one(body.id), { body: { document }, headers });
    expect((await patch({ b: 3 })).body).toMatchObject({ document: { a: 1, b: 3 }, version: 2, changed: true });
    expect((await patch({ c: 4 }, { "If-Match": '"1"' })).status).toBe(412);
    expect((await patch({ c: 4 }, { "If-Match": '"2"' })).body.document).toEqual({ a: 1, b: 3, c: 4 });
    expect((await patch({ c: 4 })).body).toMatchObject({ version: 3, changed: false });
  });

  it("sets a field to null again", async () => {
    const { body } = await create({ task: { statusMessage: "x", result: 1 } });
    const patched = await served.call("PATCH", one(body.id), {
      body: { task: { statusMessage: null, result: null }, ttlMs: null },
    });
    expect(patched.body.task).toMatchObject({ statusMessage: null, result: null });
    // In JSON, no result and the result null are the same.
    const stored = await served.deps.store.as(ADMIN).get("default", body.id, { owner: body.owner });
    expect(stored?.task?.result).toBeNull();
  });
});

describe("what happens to a task", () => {
  it("ends once: the second end is told the first with 409 (B9)", async () => {
    const { body } = await create();
    const end = (status: string, result: unknown) =>
      served.call("PUT", one(body.id, "/status"), { body: { status, task: { result } } });
    const done = await end("completed", { n: 1 });
    expect(done.body).toMatchObject({ changed: true, task: { status: "completed", result: { n: 1 } } });
    expect(done.body.settledAt).toBe(done.body.updatedAt);
    const late = await end("failed", { n: 2 });
    expect([late.status, late.body.record.task.result]).toEqual([409, { n: 1 }]);
  });

  it("asks, is answered once, and goes on (D9)", async () => {
    const { body } = await create();
    const asked = await served.call("PUT", one(body.id, "/questions"), {
      body: { inputRequests: { q: { text: "?" } } },
    });
    expect(asked.body.task).toMatchObject({ status: "input_required", inputRequests: { q: { text: "?" } } });
    const answer = () => served.call("POST", one(body.id, "/responses"), { body: { inputResponses: { q: 1, x: 2 } } });
    expect((await answer()).body).toMatchObject({
      changed: true,
      task: { status: "working", inputRequests: {}, inputResponses: { q: 1 } },
    });
    expect((await answer()).body).toMatchObject({ changed: false, version: 3 });
  });

  it("is cancelled once, and a second time means nothing (B8)", async () => {
    const { body } = await create();
    const cancelled = await served.call("POST", one(body.id, "/cancel"));
    expect([cancelled.status, cancelled.body.changed, cancelled.body.task.status]).toEqual([200, true, "cancelled"]);
    const again = await served.call("POST", one(body.id, "/cancel"));
    expect([again.status, again.body.changed]).toEqual([200, false]);
    expect((await served.call("POST", one("nothing", "/cancel"))).status).toBe(404);
  });

  it("goes when it is deleted, and deleting twice is harmless (A8)", async () => {
    const { body } = await create();
    expect((await served.call("DELETE", one(body.id))).body).toEqual({ removed: true });
    expect((await served.call("DELETE", one(body.id))).body).toEqual({ removed: false });
    expect((await served.call("GET", one(body.id))).status).toBe(404);
  });
});

describe("list", () => {
  it("gives whole records, newest first, by page and by status (A9)", async () => {
    const own = await serveStore();
    const ids = [];
    for (const n of [1, 2, 3]) {
      const task = { status: n === 2 ? "failed" : "working" };
      ids.unshift((await own.call("POST", RECORDS, { body: { id: `r${n}`, document: { n }, task } })).body.id);
      own.clock.advance(1);
    }
    const first = await own.call("GET", `${RECORDS}?limit=2`);
    const second = await own.call("GET", `${RECORDS}?limit=2&cursor=${first.body.nextCursor}`);
    const records = [...first.body.records, ...second.body.records];
    expect(records.map(({ id }) => id)).toEqual(ids);
    expect(records[0]).toMatchObject({ document: { n: 3 }, version: 1, task: { status: "working" } });
    expect(second.body.nextCursor).toBeNull();
    const failed = await own.call("GET", `${RECORDS}?status=failed`);
    expect(failed.body.records.map(({ id }: { id: string }) => id)).toEqual(["r2"]);
    expect((await own.call("GET", RECORDS, { as: "bob" })).body).toEqual({ records: [], nextCursor: null });
  });
});

describe("a namespace of documents", () => {
  const DOCUMENTS = "/namespaces/documents/records";

  it("saves on PUT: 201 the first time, 200 after, each a revision (T1, T3)", async () => {
    const save = (document: object) => served.call("PUT", `${DOCUMENTS}/d`, { body: { document } });
    const first = await save({ a: 1 });
    expect([first.status, first.body.version, first.body.task]).toEqual([201, 1, null]);
    const second = await save({ b: 2 });
    expect([second.status, second.body.version, second.body.document]).toEqual([200, 2, { b: 2 }]);
    const query = `?owner=${encodeURIComponent(first.body.owner)}`;
    const revisions = await served.call("GET", `${DOCUMENTS}/d/revisions${query}`, { as: "root" });
    expect(revisions.body).toEqual({
      revisions: [
        { version: 2, at: expect.any(Number), document: { b: 2 } },
        { version: 1, at: expect.any(Number), document: { a: 1 } },
      ],
    });
  });

  it("takes a document as it was read, and swaps on If-Match", async () => {
    await served.call("PUT", `${DOCUMENTS}/e`, { body: { document: { a: 1 } } });
    const read = await served.call("GET", `${DOCUMENTS}/e`);
    expect((await served.call("PUT", `${DOCUMENTS}/e`, { body: read.body })).body.version).toBe(2);
    const swap = (tag: string) =>
      served.call("PUT", `${DOCUMENTS}/e`, { body: { document: { c: 3 } }, headers: { "If-Match": tag } });
    expect((await swap('"1"')).status).toBe(412);
    expect((await swap('"2"')).body).toMatchObject({ version: 3, document: { c: 3 } });
    const missing = { body: { document: {} }, headers: { "If-Match": "*" } };
    expect((await served.call("PUT", `${DOCUMENTS}/none`, missing)).status).toBe(404);
  });

  it.each([
    ["PATCH", ""],
    ["PUT", "/status"],
    ["PUT", "/questions"],
    ["POST", "/responses"],
    ["POST", "/cancel"],
  ])("has no %s %s", async (method, below) => {
    const { status, body, headers } = await served.call(method, `${DOCUMENTS}/d${below}`, { body: {} });
    expect([status, body.error.code, headers.get("allow")]).toEqual([405, "method_not_allowed", ""]);
    expect(body.error.message).toContain("documents");
  });
});

describe("cleanup", () => {
  it("removes what is over, and says how much (A10)", async () => {
    const own = await serveStore();
    const path = "/namespaces/none/records";
    for (const n of [1, 2]) await own.call("POST", path, { as: "wendy", body: { id: `r${n}`, ttlMs: n * 1_000 } });
    own.clock.advance(1_500);
    const cleaned = await own.call("POST", "/namespaces/none/cleanup", { as: "wendy", body: { defaultTtlMs: 1_000 } });
    expect(cleaned.body).toEqual({ removed: 1, more: false });
    expect((await own.call("GET", `${path}/r2`, { as: "wendy" })).status).toBe(200);
  });
});
