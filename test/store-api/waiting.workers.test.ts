// How waiting looks from outside, over the real objects: proxies hold back what is quiet, and cut it.
import { reset } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fixtureCallers } from "../support/fixture-callers";

beforeEach(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  await reset();
});
afterEach(() => void vi.restoreAllMocks());

const RECORDS = "/namespaces/default/records";
const EVENTS = `${RECORDS}/r/events`;

/** What comes, as it comes. */
function chunksOf(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  return {
    next: async (): Promise<string | null> => {
      const { done, value } = await reader.read();
      return done ? null : decoder.decode(value, { stream: true });
    },
    leave: () => reader.cancel(),
  };
}

type Served = Awaited<ReturnType<typeof fixtureCallers>>;

/** Long polls: what each waits for, and how that is brought about. */
const polls: readonly {
  readonly what: string;
  readonly ask: (served: Served) => Promise<Response>;
  readonly come: (served: Served) => Promise<unknown>;
  readonly is: object;
}[] = [
  {
    what: "a claim",
    ask: ({ send }) =>
      send("worker", "POST", "/queues/remote/claims", { body: { claimId: "c", waitMs: 30_000, leaseMs: 60_000 } }),
    come: ({ start }) => start("remote"),
    is: { claims: [{ tool: "remote" }] },
  },
  {
    what: "the log of a record",
    ask: ({ send }) => send("owner-a", "GET", `${EVENTS}?after=1&waitMs=30000`),
    come: ({ store }) => store("owner-a", "POST", `${RECORDS}/r/cancel`),
    is: { entries: [{ seq: 2, event: { kind: "cancelled" } }], cursor: 2, gone: false },
  },
];

describe.each(polls)("waiting for $what", ({ ask, come, is }) => {
  it("sends the headers at once and space until the answer is there (P01)", async () => {
    const served = await fixtureCallers();
    await served.store("owner-a", "POST", RECORDS, { body: { id: "r" } });
    // Nothing has come by then: what answers is the wait itself.
    const response = await ask(served);
    const header = (name: string) => response.headers.get(name);
    expect([response.status, header("content-type"), header("x-accel-buffering")]).toEqual([
      200,
      "application/json",
      "no",
    ]);
    expect(header("cache-control")).toBe("no-store, no-transform");
    const chunks = chunksOf(response);
    for (const _ of [1, 2, 3]) expect(await chunks.next()).toBe("\n");
    await come(served);
    let text = "";
    for (let chunk = await chunks.next(); chunk !== null; chunk = await chunks.next()) text += chunk;
    expect(JSON.parse(text)).toMatchObject(is);
  });
});

describe("the log of a record as a stream", () => {
  it("begins with a comment, and brings what comes while it is open (P01)", async () => {
    const { store, send } = await fixtureCallers();
    await store("owner-a", "POST", RECORDS, { body: { id: "r" } });
    const headers = { Accept: "text/event-stream" };
    const response = await send("owner-a", "GET", `${EVENTS}?after=1`, { headers });
    const header = (name: string) => response.headers.get(name);
    expect([response.status, header("content-type"), header("cache-control"), header("x-accel-buffering")]).toEqual([
      200,
      expect.stringMatching(/^text\/event-stream/),
      "no-cache, no-transform",
      "no",
    ]);
    const chunks = chunksOf(response);
    expect(await chunks.next()).toBe(": open\n\n");
    await store("owner-a", "POST", `${RECORDS}/r/cancel`);
    expect(await chunks.next()).toMatch(/^data: \{"seq":2,.*"cancelled".*\}\nid: 2\n\n$/);
    await chunks.leave();
  });
});
