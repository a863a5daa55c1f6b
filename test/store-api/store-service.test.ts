import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/service/limits";
import { MemoryRecordStore } from "../../src/service/memory-record-store";
import type { Principal, Scope } from "../../src/service/principal";
import type { StoreApi } from "../../src/store-api/api";
import { storeService } from "../../src/store-api/store-service";
import { whileWaiting } from "../../src/service/while-waiting";
import { NAMESPACES } from "../kit/memory-subject";
import { limits as defaults, movableClock } from "../support/memory";

const MINUTE = 60_000;

function setUp(over: Partial<Limits> = {}) {
  const clock = movableClock();
  const limits = { ...defaults, ...over };
  const service = storeService({
    records: new MemoryRecordStore({ limits, clock: clock.now }),
    namespaces: NAMESPACES,
    limits,
  });
  return {
    clock,
    as: (principal: Principal) => service.as(principal),
    client: (subject: string) => service.as(identified(subject, ["client"])),
    worker: service.as(identified("worker", ["worker"])),
    admin: service.as(identified("admin", ["admin"])),
    anonymous: service.as({ kind: "anonymous" }),
  };
}

const identified = (subject: string, scopes: readonly Scope[]): Principal => ({
  kind: "identified",
  issuer: "test",
  subject,
  scopes,
  expiresAt: null,
});

const ownerNamed = (subject: string) => JSON.stringify(["test", subject]);

const code = (code: string) => expect.objectContaining({ name: "TaskError", code }) as Error;

async function make(api: StoreApi, namespace = "default", ...rest: [object?, object?]) {
  const created = await api.create(namespace, rest[0] ?? {}, rest[1]);
  if (created.kind === "taken") throw new Error("taken");
  return created.record;
}

describe("a client", () => {
  it("owns what it makes, and finds nothing that another made, even under the same id", async () => {
    const { client } = setUp();
    const [a, b] = [client("a"), client("b")];
    const own = await make(a, "default", { id: "same" });
    expect(own.owner).toBe(ownerNamed("a"));
    expect(await b.get("default", "same")).toBeNull();
    expect(await b.remove("default", "same")).toBe(false);
    await make(b, "default", { id: "same" });
    expect((await b.list("default")).records).toHaveLength(1);
    expect(await a.get("default", "same")).toEqual(own);
  });

  it("does not reach another's minted id either", async () => {
    const { client } = setUp();
    const { id } = await make(client("a"));
    expect(await client("b").get("default", id)).toBeNull();
  });

  it.each<object>([{ owner: "someone" }, { owner: null }, { any: true }])(
    "may not act as %j, and is told which scope that takes",
    async (as) => {
      const { client } = setUp();
      const a = client("a");
      await make(a, "default", { id: "x" });
      for (const call of [
        () => a.create("default", {}, as),
        () => a.get("default", "x", as),
        () => a.list("default", as),
        () => a.events("default", "x", as),
        () => a.save("documents", "x", "{}", as),
      ]) {
        await expect(call()).rejects.toEqual(code("invalid"));
        await expect(call()).rejects.toThrow('"worker" or "admin"');
      }
    },
  );

  it("may name itself", async () => {
    const { client } = setUp();
    const { id } = await make(client("a"));
    expect((await client("a").get("default", id, { owner: ownerNamed("a") }))?.id).toBe(id);
  });

  it("reads a namespace that servers keep as one that does not exist", async () => {
    const { client, anonymous } = setUp();
    for (const api of [client("a"), anonymous]) {
      for (const name of ["strict", "lenient", "none", "files", "unknown", "__proto__"]) {
        await expect(api.get(name, "x")).rejects.toThrow("No such namespace.");
        await expect(api.list(name)).rejects.toThrow("No such namespace.");
        await expect(api.create(name, {})).rejects.toEqual(code("not_found"));
      }
    }
  });

  it("neither cleans up nor reads revisions", async () => {
    const { client } = setUp();
    await client("a").save("documents", "x", "{}");
    await expect(client("a").revisions("documents", "x")).rejects.toThrow('"admin"');
    await expect(client("a").cleanup("default", 0)).rejects.toThrow('"admin"');
  });
});

describe("an anonymous caller", () => {
  it("has the minted id as its only capability", async () => {
    const { anonymous, client, worker } = setUp();
    const { id, owner } = await make(anonymous);
    expect(owner).toBeNull();
    expect((await anonymous.get("default", id))?.id).toBe(id);
    expect(await client("a").get("default", id)).toBeNull();
    expect((await worker.get("default", id, { any: true }))?.id).toBe(id);
    await expect(anonymous.list("default")).rejects.toEqual(code("invalid"));
  });

  it("does not choose ids, by which others could find its records", async () => {
    const { anonymous, worker } = setUp();
    await expect(anonymous.create("default", { id: "mine" })).rejects.toThrow("minted");
    await expect(anonymous.save("documents", "mine", "{}")).rejects.toThrow("minted");
    await expect(worker.create("default", { id: "mine" }, { owner: null })).rejects.toThrow("minted");
  });

  it("shares no idempotency keys", async () => {
    const { anonymous } = setUp();
    const [one, two] = [
      await make(anonymous, "default", {}, { idempotencyKey: "k" }),
      await make(anonymous, "default", {}, { idempotencyKey: "k" }),
    ];
    expect(one.id).not.toBe(two.id);
  });

  it("on its own machine may be a worker too", async () => {
    const { as } = setUp();
    const local = as({ kind: "anonymous", local: true });
    expect((await make(local, "strict", { id: "x" }, { owner: "o" })).owner).toBe("o");
    expect((await make(local, "default", { id: "x" }, { owner: "o" })).owner).toBe("o");
  });
});

describe("a worker", () => {
  it("acts as itself where each owner has its own ids, and for whom it names", async () => {
    const { worker, client } = setUp();
    expect((await make(worker, "default", { id: "x" })).owner).toBe(ownerNamed("worker"));
    const foreign = await make(client("a"), "default", { id: "x" });
    expect(await worker.get("default", "x", { owner: ownerNamed("a") })).toEqual(foreign);
    expect((await worker.cancel("default", "x", { owner: ownerNamed("a") }))?.kind).toBe("written");
  });

  it("finds a record by its minted id alone, and by no other", async () => {
    const { worker, client } = setUp();
    const minted = await make(client("a"));
    await make(client("a"), "default", { id: "chosen" });
    const looksMinted = "A".repeat(43);
    await make(client("b"), "default", { id: looksMinted });
    const any = { any: true } as const;
    expect(await worker.get("default", minted.id, any)).toEqual(minted);
    expect((await worker.setStatus("default", minted.id, "completed", {}, any))?.kind).toBe("written");
    expect(await worker.get("default", "chosen", any)).toBeNull();
    expect(await worker.get("default", looksMinted, any)).toBeNull();
    expect(await worker.remove("default", minted.id, any)).toBe(true);
    expect(await client("a").get("default", minted.id)).toBeNull();
  });

  it("is not led to another record by who chooses the id that was minted for it", async () => {
    const { worker, client } = setUp();
    const minted = await make(client("a"));
    const own = await make(client("b"), "default", { id: minted.id });
    expect(own).toMatchObject({ id: minted.id, version: 1 });
    expect(own.owner).not.toBe(minted.owner);
    expect(await client("b").get("default", minted.id)).toEqual(own);
    expect(await client("b").remove("default", minted.id)).toBe(true);
    expect(await client("b").get("default", minted.id)).toBeNull();
    expect(await client("a").get("default", minted.id)).toEqual(minted);
    expect(await worker.get("default", minted.id, { any: true })).toEqual(minted);
  });

  it("names an owner to make, list or clean up where owners are kept apart", async () => {
    const { worker, admin } = setUp();
    await expect(worker.create("default", {}, { any: true })).rejects.toThrow("Name the owner");
    await expect(worker.list("default", { any: true })).rejects.toThrow("Name the owner");
    await expect(admin.cleanup("default", 0, { any: true })).rejects.toThrow("Name the owner");
    await expect(worker.cleanup("default", 0)).rejects.toThrow('"admin"');
    expect(await worker.cleanup("strict", 0)).toEqual({ removed: 0, more: false });
  });

  it("is nobody where all ids lie together, unless it says for whom it is", async () => {
    const { worker } = setUp();
    expect((await make(worker, "strict", { id: "x" })).owner).toBeNull();
    expect((await make(worker, "strict", { id: "y" }, { any: true })).owner).toBeNull();
    expect((await worker.create("strict", { id: "x" }, { owner: "o" })).kind).toBe("taken");
  });

  it("does not ask for one owner and for any", async () => {
    const { worker } = setUp();
    await expect(worker.get("strict", "x", { owner: "o", any: true })).rejects.toEqual(code("invalid"));
  });

  it.each([1, "\ud800", "x".repeat(1_025)])("names owners by text: not %j", async (owner) => {
    const { worker } = setUp();
    await expect(worker.get("strict", "x", { owner: owner as string })).rejects.toEqual(code("invalid"));
  });
});

describe("a document", () => {
  it("that belongs to another is not saved over", async () => {
    const clock = movableClock();
    const limits = defaults;
    const strict = NAMESPACES.map((one) => (one.name === "files" ? { ...one, owners: "strict" as const } : one));
    const records = new MemoryRecordStore({ limits, clock: clock.now });
    const worker = storeService({ records, namespaces: strict, limits }).as(identified("worker", ["worker"]));
    const saved = await worker.save("files", "x", '{"a":1}', { owner: "a" });
    await expect(worker.save("files", "x", "{}", { owner: "b" })).rejects.toEqual(code("conflict"));
    expect(await worker.get("files", "x", { owner: "a" })).toEqual(saved);
  });

  it("keeps the ttl it was created with, and as many saves as its namespace says", async () => {
    const { worker } = setUp();
    await make(worker, "files", { id: "x", ttlMs: MINUTE });
    for (let n = 1; n <= 30; n += 1) await worker.save("files", "x", `{"n":${n}}`);
    expect((await worker.get("files", "x"))?.ttlMs).toBe(MINUTE);
    const kept = await worker.revisions("files", "x");
    expect(kept?.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, n) => 31 - n));
  });

  it("has no fields of a task, and a task is not saved", async () => {
    const { worker } = setUp();
    await worker.save("files", "x", "{}");
    for (const call of [
      () => worker.create("files", { task: {} }),
      () => worker.merge("files", "x", {}),
      () => worker.setStatus("files", "x", "completed"),
      () => worker.setQuestions("files", "x", "{}"),
      () => worker.resolve("files", "x", "{}"),
      () => worker.cancel("files", "x"),
      () => worker.replace("files", "x", null, { document: "{}", task: {} }),
      () => worker.save("none", "x", "{}"),
    ]) {
      await expect(call()).rejects.toEqual(code("invalid"));
    }
    expect((await worker.replace("files", "x", 1, { document: '{"a":1}' }))?.kind).toBe("written");
  });
});

describe("what is stored", () => {
  it.each<[string, object]>([
    ["document must be", { document: "[]" }],
    ["document must be", { document: '{"a":"\ud800"}' }],
    ["document must be", { document: { a: 1 } }],
    ["ttlMs must be", { ttlMs: -1 }],
    ["ttlMs must be", { ttlMs: 1.5 }],
    ["ttlMs must be", { ttlMs: "60000" }],
    ["task must be", { task: null }],
    ["status must be", { task: { status: "paused" } }],
    ["statusMessage must be", { task: { statusMessage: 1 } }],
    ["statusMessage must be", { task: { statusMessage: "\udc00" } }],
    ["pollIntervalMs must be", { task: { pollIntervalMs: 0 } }],
    ["inputRequests must be", { task: { inputRequests: "[]" } }],
    ["inputResponses must be", { task: { inputResponses: "null" } }],
    ["result must be", { task: { result: "{" } }],
    ["error must be", { task: { error: {} } }],
  ])("is refused where %s otherwise: %j", async (message, content) => {
    const { client } = setUp();
    const a = client("a");
    await make(a, "default", { id: "x" });
    await expect(a.create("default", content)).rejects.toThrow(message);
    await expect(a.merge("default", "x", content)).rejects.toThrow(message);
    await expect(a.replace("default", "x", null, { document: "{}", ...content })).rejects.toThrow(message);
    await expect(a.setStatus("default", "x", "working", content)).rejects.toThrow(message);
    expect((await a.get("default", "x"))?.version).toBe(1);
  });

  it("may be as large as the limit, however it grows, and not a byte larger", async () => {
    const { client } = setUp({ resultLimitBytes: 1_000 });
    const a = client("a");
    const tooLarge = expect.objectContaining({
      code: "too_large",
      data: { limit: "RESULT_LIMIT_BYTES", value: 1_000 },
    });
    const fields = "{}{}working".length;
    const sized = (bytes: number) => `{"a":"${"é".repeat((bytes - '{"a":""}'.length) / 2)}"}`;
    await expect(a.create("default", { document: sized(1_002 - fields + 1) })).rejects.toEqual(tooLarge);
    const { id, document } = await make(a, "default", { document: sized(1_000 - fields - 1) });
    await expect(a.merge("default", id, { document: '{"b":1}' })).rejects.toEqual(tooLarge);
    await expect(a.setQuestions("default", id, '{"q":{}}')).rejects.toEqual(tooLarge);
    await expect(a.setStatus("default", id, "completed", { task: { result: "12" } })).rejects.toEqual(tooLarge);
    expect(await a.get("default", id)).toMatchObject({ version: 1, document });
  });

  it("lasts as long as it was told, or as the deployment allows at most", async () => {
    const { client, worker } = setUp({ maxTtlMs: 10 * MINUTE });
    const a = client("a");
    expect((await make(a, "default", { ttlMs: 5 })).ttlMs).toBe(5);
    expect((await make(a, "default", { ttlMs: 11 * MINUTE })).ttlMs).toBe(10 * MINUTE);
    const { id, ttlMs } = await make(a);
    expect(ttlMs).toBeNull();
    expect((await a.merge("default", id, { ttlMs: 11 * MINUTE }))?.record.ttlMs).toBe(10 * MINUTE);
    expect((await a.merge("default", id, { document: "{}" }))?.record.ttlMs).toBe(10 * MINUTE);
    expect((await make(worker, "none", { ttlMs: 0 })).ttlMs).toBeNull();
    const never = await make(worker, "none", { ttlMs: MINUTE });
    expect((await worker.merge("none", never.id, { ttlMs: 0 }))?.record.ttlMs).toBeNull();
  });

  it("without a ttl goes once it has ended and been kept for the deployment's time", async () => {
    const { client, clock } = setUp({ retentionMs: MINUTE });
    const a = client("a");
    const { id } = await make(a);
    clock.advance(2 * MINUTE);
    expect((await a.setStatus("default", id, "completed"))?.kind).toBe("written");
    expect(await a.get("default", id)).not.toBeNull();
    clock.advance(MINUTE);
    expect(await a.get("default", id)).toBeNull();
  });
});

describe("an id", () => {
  it.each(["", ".", "..", "x".repeat(513), "\ud800"])(
    "%j is refused where it would be stored, and is missing elsewhere",
    async (id) => {
      const { client } = setUp();
      const a = client("a");
      await expect(a.create("default", { id })).rejects.toEqual(code("invalid"));
      await expect(a.save("documents", id, "{}")).rejects.toEqual(code("invalid"));
      expect(await a.get("default", id)).toBeNull();
      expect(await a.cancel("default", id)).toBeNull();
      expect(await a.remove("default", id)).toBe(false);
      expect(await a.events("default", id)).toBeNull();
    },
  );
});

describe("limits", () => {
  it("an owner's records are capped, each owner's for itself; those that servers keep are not", async () => {
    const { client, worker } = setUp({ maxTasksPerOwner: 2 });
    for (const subject of ["a", "b"]) {
      await make(client(subject));
      await make(client(subject));
      await expect(client(subject).create("default", {})).rejects.toEqual(
        expect.objectContaining({
          code: "limit_reached",
          data: expect.objectContaining({ limit: "MAX_TASKS_PER_OWNER", value: 2 }) as object,
        }),
      );
      await make(client(subject), "documents");
    }
    for (let n = 0; n < 5; n += 1) await make(worker, "strict");
  });

  it("an owner makes so many in a minute", async () => {
    const { client, clock } = setUp({ createsPerMinute: 3 });
    for (let n = 0; n < 3; n += 1) await make(client("a"));
    await expect(client("a").create("default", {})).rejects.toEqual(code("rate_limited"));
    await make(client("b"));
    clock.advance(MINUTE);
    await make(client("a"));
  });

  it("what has expired takes no place, and its idempotency key is free", async () => {
    const { client, clock } = setUp();
    const a = client("a");
    const once = { maxRows: 1, idempotencyKey: "k" };
    const first = await make(a, "default", { ttlMs: MINUTE }, once);
    expect((await make(a, "default", { ttlMs: MINUTE }, once)).id).toBe(first.id);
    clock.advance(MINUTE);
    const second = await make(a, "default", { ttlMs: MINUTE }, once);
    expect(second.id).not.toBe(first.id);
  });

  it.each(["", "ä", "x".repeat(256), "a b"])("an idempotency key is not %j", async (idempotencyKey) => {
    const { client } = setUp();
    await expect(client("a").create("default", {}, { idempotencyKey })).rejects.toEqual(code("invalid"));
  });

  it("an idempotency key is each owner's own, also where all ids lie together", async () => {
    const { worker } = setUp();
    const [a, b] = [
      await make(worker, "strict", {}, { owner: "a", idempotencyKey: "k" }),
      await make(worker, "strict", { document: '{"b":1}' }, { owner: "b", idempotencyKey: "k" }),
    ];
    expect(a.id).not.toBe(b.id);
  });
});

describe("events", () => {
  it("keep the newest thousand, and say by their numbers what is missing", async () => {
    const { client } = setUp();
    const a = client("a");
    const { id } = await make(a);
    for (let n = 0; n < 1_100; n += 1) await a.merge("default", id, { document: `{"n":${n}}` });
    const { entries, cursor } = (await a.events("default", id))!;
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 102));
    expect(cursor).toBe(1_101);
  });

  it("are waited for only until the record is over", async () => {
    const { client } = setUp();
    const a = client("a");
    const { id } = await make(a, "default", { ttlMs: 30 });
    expect(await a.events("default", id, { after: 1, waitMs: 30_000 })).toBeNull();
  });

  it("let go of the feed that was waited for, also of one that does not notice that nobody reads on", async () => {
    const entry = { seq: 2, at: 0, version: 2, event: { kind: "written", status: "working" } } as const;
    const unending = { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: entry, done: false }) }) };
    for (const feed of [unending, null]) {
      let waited: AbortSignal | undefined;
      const watch = async (signal: AbortSignal) => {
        waited = signal;
        return feed;
      };
      for await (const _ of whileWaiting(watch, MINUTE)) break;
      expect(waited?.aborted).toBe(true);
    }
  });

  it.each([{ after: -1 }, { after: 0.5 }, { waitMs: -1 }, { waitMs: Number.NaN }])(
    "are not asked for with %j",
    async (options) => {
      const { client } = setUp();
      const { id } = await make(client("a"));
      await expect(client("a").events("default", id, options)).rejects.toEqual(code("invalid"));
    },
  );
});

describe("cleanup", () => {
  it("looks at so many at a time, and says when there are more", async () => {
    const { worker } = setUp();
    for (let n = 0; n < 250; n += 1) await make(worker, "strict", { ttlMs: 0 });
    expect(await worker.cleanup("strict", MINUTE)).toEqual({ removed: 200, more: true });
    expect(await worker.cleanup("strict", MINUTE)).toEqual({ removed: 50, more: false });
  });
});
