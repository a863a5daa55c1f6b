import { describe, expect, it } from "vitest";
import { HttpTaskError } from "../../src/client/http-error";
import { httpStore } from "../../src/client/http-store";
import { TaskError } from "../../src/task/errors";
import { serveStore } from "../support/store";

/** A store over a server that always answers so, and what was asked of it. */
function answering(status: number, text: string) {
  const asked: Request[] = [];
  const store = httpStore({
    url: "https://holdfast.example/base///",
    token: "secret",
    fetch: async (input, init) => {
      asked.push(new Request(input as string, init as RequestInit));
      return new Response(text, { status });
    },
  });
  return { store, asked };
}

async function overApp(token?: string) {
  const { app, clock } = await serveStore();
  const fetchApp: typeof fetch = async (input, init) => app.request(input as string, init as RequestInit);
  return { clock, store: httpStore({ url: "http://localhost", fetch: fetchApp, ...(token ? { token } : {}) }) };
}

const thrownBy = async (call: Promise<unknown>): Promise<HttpTaskError> => {
  const thrown: unknown = await call.catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(HttpTaskError);
  expect(thrown).toBeInstanceOf(TaskError);
  return thrown as HttpTaskError;
};

describe("httpStore", () => {
  it("sends its token, and names nothing but what was asked", async () => {
    const { store, asked } = answering(200, '{"removed":true}');
    await store.remove("strict", "t/1 ä?", { owner: "a&b" });
    expect(asked[0]?.url).toBe(
      "https://holdfast.example/base/store/v1/namespaces/strict/records/t%2F1%20%C3%A4%3F?owner=a%26b",
    );
    expect(asked[0]?.headers.get("authorization")).toBe("Bearer secret");
    await store.remove("strict", "x", { owner: null });
    await store.remove("strict", "x", { any: true });
    await store.remove("strict", "x");
    expect(asked.slice(1).map(({ url }) => new URL(url).search)).toEqual(["?unowned=true", "?any=true", ""]);
  });

  it("throws what the server refuses, with its code, its sentence and its facts", async () => {
    const { store } = await overApp("wendy");
    await store.create("none", { id: "one" }, { maxRows: 1 });
    const limited = await thrownBy(store.create("none", { id: "two" }, { maxRows: 1 }));
    expect([limited.code, limited.status, limited.data.value]).toEqual(["limit_reached", 429, 1]);
    const invalid = await thrownBy(store.create("none", { task: { status: "done" as "failed" } }));
    expect([invalid.code, invalid.message]).toEqual(["invalid", expect.stringContaining("body.task.status")]);
    const closed = await thrownBy((await overApp("ann")).store.get("strict", "x", { any: true }));
    expect([closed.code, closed.wireCode, closed.status]).toEqual(["invalid", "insufficient_scope", 403]);
    const unknown = await thrownBy((await overApp()).store.get("default", "x"));
    expect([unknown.code, unknown.wireCode, unknown.status]).toEqual(["invalid", "unauthenticated", 401]);
    const nowhere = await thrownBy(store.get("unknown", "x"));
    expect([nowhere.code, nowhere.status]).toEqual(["not_found", 404]);
  });

  it.each<[number, string, string]>([
    [502, "<html>Bad gateway</html>", "overloaded"],
    [500, "", "internal"],
    [404, "Nothing is served here.", "invalid"],
    [429, "[]", "rate_limited"],
    [413, "null", "too_large"],
    [400, '{"error":"no"}', "invalid"],
    [409, '{"error":{"code":"terminal"}}', "conflict"],
  ])("makes of a %i without a word of ours (%s) the code %s", async (status, text, code) => {
    const error = await thrownBy(answering(status, text).store.get("strict", "x"));
    expect([error.code, error.status, error.message]).toEqual([code, status, expect.stringContaining(String(status))]);
  });

  it("sends nothing that would get there as something else", async () => {
    const { store, asked } = answering(500, "");
    const not = (call: Promise<unknown>) => expect(call).rejects.toMatchObject({ code: "invalid" });
    for (const text of ['{"a":1},"maxRows":0', "{", "", "\ud800"]) {
      await not(store.create("strict", { document: text }));
      await not(store.resolve("strict", "x", text));
      await not(store.setStatus("strict", "x", "completed", { task: { result: text } }));
    }
    await not(store.create("strict", { ttlMs: Number.NaN }));
    await not(store.create("strict", {}, { idempotencyKey: "ä" }));
    await not(store.create("strict", { id: ".." }));
    await not(store.save("files", "..", "{}"));
    await not(store.get("strict", "x", { owner: "\ud800" }));
    for (const id of [".", "..", "", "\ud800"]) {
      expect(await store.get("strict", id)).toBeNull();
      expect(await store.cancel("strict", id)).toBeNull();
      expect(await store.remove("strict", id)).toBe(false);
      expect(await store.events("strict", id)).toBeNull();
      expect(await store.revisions("strict", id)).toBeNull();
    }
    await expect(store.get("a/../b", "x")).rejects.toMatchObject({ code: "not_found" });
    expect(asked).toEqual([]);
  });

  it("waits for events no longer than until it is told to stop (D12)", async () => {
    const { store } = await overApp("wendy");
    const { record } = (await store.create("none", { id: "x" })) as { record: { seq: number } };
    const stop = new AbortController();
    const waiting = store.events("none", "x", { after: record.seq, waitMs: 30_000, signal: stop.signal });
    setTimeout(() => stop.abort(), 10);
    expect(await waiting).toEqual({ entries: [], cursor: record.seq });
  });
});
