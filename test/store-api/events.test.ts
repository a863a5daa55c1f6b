import { describe, expect, it } from "vitest";
import { storeRoutes } from "../../src/store-api/routes";
import { serveStore, type StoreServed } from "../support/store";

const RECORDS = "/namespaces/default/records";
const EVENTS = `${RECORDS}/r/events`;
const STREAM = { Accept: "text/event-stream" };

/** A record that asked two questions, of which one was answered: four entries. */
async function serveRecord(): Promise<StoreServed> {
  const served = await serveStore();
  await served.call("POST", RECORDS, { body: { id: "r" } });
  await served.call("PUT", `${RECORDS}/r/questions`, { body: { inputRequests: { a: 1, b: 2 } } });
  await served.call("POST", `${RECORDS}/r/responses`, { text: '{"inputResponses":{"a":{"n":1.0}}}' });
  return served;
}

const touch = ({ call }: StoreServed, n: number) =>
  call("PATCH", `${RECORDS}/r`, { body: { document: { [`k${n}`]: n } } });

/** The blocks of an event stream as they come, comments too. */
async function* blocks(response: Response): AsyncGenerator<string> {
  let buffered = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    buffered += decoder.decode(chunk, { stream: true });
    for (let end = buffered.indexOf("\n\n"); end >= 0; end = buffered.indexOf("\n\n")) {
      yield buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
    }
  }
}

const events = async function* (response: Response) {
  for await (const block of blocks(response)) if (!block.startsWith(":")) yield block;
};

const idOf = (block: string | undefined): string | undefined => /^id: (\d+)$/m.exec(block ?? "")?.[1];

async function take(stream: AsyncGenerator<string>, count: number): Promise<(string | undefined)[]> {
  const ids = [];
  while (ids.length < count) ids.push(idOf((await stream.next()).value as string | undefined));
  return ids;
}

describe("the log of a record", () => {
  it("is given from its beginning, or from after a cursor, with each answer in it (D10)", async () => {
    const { call } = await serveRecord();
    const all = await call("GET", EVENTS);
    expect(all.body).toMatchObject({
      entries: [
        { seq: 1, version: 1, event: { kind: "created", status: "working" } },
        { seq: 2, version: 2, event: { kind: "asked", keys: ["a", "b"] } },
        { seq: 3, version: 3, event: { kind: "answered", key: "a" } },
      ],
      cursor: 3,
      gone: false,
    });
    expect(all.text).toContain('"response":{"n":1.0}');
    const later = await call("GET", `${EVENTS}?after=2`);
    expect(later.body.entries.map(({ seq }: { seq: number }) => seq)).toEqual([3]);
    expect((await call("GET", `${EVENTS}?after=3`)).body).toEqual({ entries: [], cursor: 3, gone: false });
  });

  it("is waited for, and the answer comes with what is new", async () => {
    const served = await serveRecord();
    const waiting = served.call("GET", `${EVENTS}?after=3&waitMs=30000`);
    await touch(served, 1);
    expect((await waiting).body).toMatchObject({ entries: [{ seq: 4, event: { kind: "written" } }], cursor: 4 });
  });

  it("is waited for no longer than was asked", async () => {
    const { call } = await serveRecord();
    expect((await call("GET", `${EVENTS}?after=3&waitMs=20`)).body).toEqual({ entries: [], cursor: 3, gone: false });
  });

  it("sends its headers, and space now and then, while there is nothing yet (P01)", async () => {
    const served = await serveRecord();
    const response = await served.send("GET", `${EVENTS}?after=3&waitMs=30000`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (const _ of [1, 2]) expect(new TextDecoder().decode((await reader.read()).value)).toBe("\n");
    await touch(served, 1);
    const { value } = await reader.read();
    expect(JSON.parse(new TextDecoder().decode(value))).toMatchObject({ cursor: 4 });
    expect((await reader.read()).done).toBe(true);
  });

  it("tells who waits that the record went (A8)", async () => {
    const { call } = await serveRecord();
    const waiting = call("GET", `${EVENTS}?after=3&waitMs=30000`);
    await call("DELETE", `${RECORDS}/r`);
    expect((await waiting).body).toEqual({ entries: [], cursor: 3, gone: true });
    expect((await call("GET", `${EVENTS}?after=3&waitMs=30000`)).status).toBe(404);
  });

  it("lets go of a client that leaves (D12)", async () => {
    const { deps, send } = await serveRecord();
    const waits = watched(deps);
    const leaving = new AbortController();
    const response = await send("GET", `${EVENTS}?after=3&waitMs=30000`, { signal: leaving.signal });
    leaving.abort();
    await expect.poll(() => waits.at(-1)?.aborted).toBe(true);
    await response.body?.cancel();
    const another = await send("GET", `${EVENTS}?after=3&waitMs=30000`);
    await another.body?.cancel();
    await expect.poll(() => waits.at(-1)?.aborted).toBe(true);
  });
});

describe("the log of a record as a stream", () => {
  it("begins at once, gives what was and then what comes, each under its seq", async () => {
    const served = await serveRecord();
    const response = await served.send("GET", EVENTS, { headers: STREAM });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect([response.headers.get("cache-control"), response.headers.get("x-accel-buffering")]).toEqual([
      "no-cache, no-transform",
      "no",
    ]);
    const stream = events(response);
    const first = (await stream.next()).value as string;
    expect(first).toMatch(/^data: \{"seq":1,.*\}\nid: 1$/);
    expect(await take(stream, 2)).toEqual(["2", "3"]);
    await touch(served, 1);
    expect(await take(stream, 1)).toEqual(["4"]);
    await stream.return(undefined);
  });

  it("goes on after the last event that a client has seen, or after a cursor", async () => {
    const { send } = await serveRecord();
    const from = async (query: string, headers = {}) => {
      const stream = events(await send("GET", `${EVENTS}${query}`, { headers: { ...STREAM, ...headers } }));
      const ids = await take(stream, 1);
      await stream.return(undefined);
      return ids[0];
    };
    expect(await from("?after=2")).toBe("3");
    expect(await from("", { "Last-Event-ID": "1" })).toBe("2");
    // A browser repeats the address it began with.
    expect(await from("?after=0", { "Last-Event-ID": "2" })).toBe("3");
    const wrong = await send("GET", EVENTS, { headers: { ...STREAM, "Last-Event-ID": "x" } });
    expect(wrong.status).toBe(400);
  });

  it("resumes without a gap and without a repeat, however often it is cut", async () => {
    const served = await serveRecord();
    const seen: (string | undefined)[] = [];
    for (let round = 0; round < 5; round++) {
      const last = seen.at(-1);
      const headers = { ...STREAM, ...(last === undefined ? {} : { "Last-Event-ID": last }) };
      const stream = events(await served.send("GET", EVENTS, { headers }));
      await touch(served, round);
      seen.push(...(await take(stream, 1)));
      await stream.return(undefined);
    }
    expect(seen).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("ends when the record goes", async () => {
    const { send, call } = await serveRecord();
    const stream = events(await send("GET", `${EVENTS}?after=3`, { headers: STREAM }));
    const next = stream.next();
    await call("DELETE", `${RECORDS}/r`);
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("is not opened on a record that is not there, or is another's", async () => {
    const { send } = await serveRecord();
    for (const options of [{ as: "bob" }, { as: "ann" }]) {
      const path = options.as === "ann" ? `${RECORDS}/none/events` : EVENTS;
      const response = await send("GET", path, { ...options, headers: STREAM });
      expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"]);
    }
  });

  it("lets go of a client that leaves", async () => {
    const { deps, send } = await serveRecord();
    const waits = watched(deps);
    const stream = events(await send("GET", `${EVENTS}?after=2`, { headers: STREAM }));
    await take(stream, 1);
    await expect.poll(() => waits.length).toBeGreaterThan(1);
    await stream.return(undefined);
    await expect.poll(() => waits.at(-1)?.aborted).toBe(true);
  });

  it("ends when its credential does", async () => {
    const { deps } = await serveRecord();
    const principal = {
      kind: "identified",
      issuer: "holdfast:token",
      subject: "ann",
      scopes: ["client"],
      // Streams have a second more, to end in good order.
      expiresAt: Date.now() - 900,
    } as const;
    const routes = storeRoutes(deps, async () => ({ kind: "principal", principal }));
    const stream = events(await routes.request(`http://localhost${EVENTS}?after=2`, { headers: STREAM }));
    expect(await take(stream, 1)).toEqual(["3"]);
    expect((await stream.next()).done).toBe(true);
  });

  it.each([
    ["text/html", 406],
    ["application/json", 200],
    ["*/*", 200],
    ["text/event-stream;q=0, application/json", 200],
  ])("is what an Accept of %s does not ask for", async (accept, status) => {
    const { send } = await serveRecord();
    const response = await send("GET", EVENTS, { headers: { Accept: accept } });
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/json"]);
  });
});

/** The signals with which the log is waited for. */
function watched(deps: StoreServed["deps"]): AbortSignal[] {
  const signals: AbortSignal[] = [];
  const { as } = deps.store;
  deps.store.as = (principal) => {
    const api = as(principal);
    return Object.assign(Object.create(api) as typeof api, {
      events: (...args: Parameters<typeof api.events>) => {
        const signal = args[2]?.signal;
        if (signal) signals.push(signal);
        return api.events(...args);
      },
    });
  };
  return signals;
}
