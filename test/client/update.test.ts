import { describe, expect, it } from "vitest";
import { httpStore } from "../../src/client/http-store";
import { update } from "../../src/client/update";
import type { StoredRecord } from "../../src/record/record";
import type { StoreApi } from "../../src/store-api/api";
import { serveStore } from "../support/store";

const A = { owner: "a" };

/** A store over HTTP, with one record of owner `a`. */
async function withRecord(document = '{"count":0}') {
  const { app } = await serveStore();
  const sent: string[] = [];
  const store = httpStore({
    url: "http://localhost/",
    token: "wendy",
    fetch: async (input, init) => {
      sent.push(init?.method ?? "GET");
      return app.request(input as string, init as RequestInit);
    },
  });
  await store.create("strict", { id: "r", document }, A);
  return { store, sent };
}

const counted = ({ document }: StoredRecord) => ({
  content: { document: JSON.stringify({ count: (JSON.parse(document) as { count: number }).count + 1 }) },
});

describe("update", () => {
  it("loses none of 100 increments at once (B6)", async () => {
    const { store, sent } = await withRecord();
    const updated = await Promise.all(Array.from({ length: 100 }, () => update(store, "strict", "r", A, counted)));
    expect(updated.every((one) => one?.kind === "written")).toBe(true);
    expect(await store.get("strict", "r", A)).toMatchObject({ document: '{"count":100}', version: 101 });
    // They did meet each other, or this would have proved nothing.
    expect(sent.filter((method) => method === "PUT").length).toBeGreaterThan(100);
  });

  it("loses none in a namespace of documents either", async () => {
    const { store } = await withRecord();
    await store.save("files", "d", '{"count":0}');
    await Promise.all(Array.from({ length: 20 }, () => update(store, "files", "d", {}, counted)));
    expect((await store.get("files", "d"))?.document).toBe('{"count":20}');
  });

  it("writes nothing when the function refuses, and gives its reason back", async () => {
    const { store, sent } = await withRecord();
    const refused = await update(store, "strict", "r", A, () => ({ error: "too late" }));
    expect(refused).toMatchObject({ kind: "refused", error: "too late", record: { version: 1 } });
    expect(sent).toEqual(["POST", "GET"]);
  });

  it("passes on what the function throws", async () => {
    const { store } = await withRecord();
    const broken = () => {
      throw new Error("a bug");
    };
    await expect(update(store, "strict", "r", A, broken)).rejects.toThrow("a bug");
    expect((await store.get("strict", "r", A))?.version).toBe(1);
  });

  it("finds nothing where there is nothing for this owner", async () => {
    const { store } = await withRecord();
    expect(await update(store, "strict", "none", A, counted)).toBeNull();
    expect(await update(store, "strict", "r", { owner: "b" }, counted)).toBeNull();
    expect((await update(store, "strict", "r", { any: true }, counted))?.kind).toBe("written");
  });

  it("finds nothing when the record goes meanwhile", async () => {
    const { store } = await withRecord();
    const leaving = (record: StoredRecord) => {
      void store.remove("strict", "r", A);
      return counted(record);
    };
    expect(await update(store, "strict", "r", A, leaving)).toBeNull();
  });

  it("tells that a final status stays (B7)", async () => {
    const { store } = await withRecord();
    await store.setStatus("strict", "r", "completed", {}, A);
    const back = (record: StoredRecord) => ({
      content: { document: record.document, task: { status: "working" as const } },
    });
    expect(await update(store, "strict", "r", A, back)).toMatchObject({ kind: "terminal", record: { version: 2 } });
  });

  it("waits longer from try to try, by chance, and starts from the fresh record", async () => {
    const waits: number[] = [];
    const seen: number[] = [];
    let version = 1;
    const record = (): StoredRecord => ({ version, document: "{}" }) as StoredRecord;
    const store: Pick<StoreApi, "get" | "replace"> = {
      get: async () => record(),
      replace: async (_namespace, _id, wanted) => {
        version += version < 12 ? 1 : 0;
        return { kind: wanted === version ? "written" : "stale", record: record() };
      },
    };
    const fn = (one: StoredRecord) => {
      seen.push(one.version);
      return { content: { document: "{}" } };
    };
    const sleep = async (ms: number): Promise<void> => void waits.push(ms);
    await update(store, "strict", "r", A, fn, { sleep, random: () => 0.5 });
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 250, 250, 250, 250]);
  });

  it("tries no more once it is told to stop", async () => {
    const { store } = await withRecord();
    const stop = new AbortController();
    const fn = (record: StoredRecord) => {
      void store.merge("strict", "r", { document: `{"n":${record.version}}` }, A);
      stop.abort(new Error("enough"));
      return counted(record);
    };
    await expect(update(store, "strict", "r", A, fn, { signal: stop.signal })).rejects.toThrow("enough");
  });
});
