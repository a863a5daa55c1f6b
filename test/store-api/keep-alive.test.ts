import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { serveStore } from "../support/store";

const RECORD = "/namespaces/default/records/r";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

it("a quiet stream of a record has a comment every fifteen seconds, and goes on (P01)", async () => {
  const { call, send } = await serveStore();
  await call("POST", "/namespaces/default/records", { body: { id: "r" } });
  const response = await send("GET", `${RECORD}/events?after=1`, { headers: { Accept: "text/event-stream" } });
  const text = response.text();
  // Longer than the longest wait for a record, twice.
  await vi.advanceTimersByTimeAsync(75_000);
  await call("POST", `${RECORD}/cancel`);
  await vi.advanceTimersByTimeAsync(100);
  await call("DELETE", RECORD);
  await vi.advanceTimersByTimeAsync(100);
  expect((await text).match(/^: keep-alive$/gm)).toHaveLength(5);
  expect(await text).toMatch(/^: open\n\n(: keep-alive\n\n)+data: \{"seq":2,.*\}\nid: 2\n\n$/);
});

it.each([
  ["a claim", "wendy", "POST", "/queues/gpu/claims", { claimId: "c", waitMs: 30_000 }, { claims: [] }],
  ["a wait for a record", "ann", "GET", `${RECORD}/events?after=1&waitMs=30000`, undefined, { entries: [] }],
] as const)(
  "%s has a byte every second, thirty seconds long, and is then answered with nothing (P01)",
  async (...row) => {
    const [, as, method, path, body, answer] = row;
    const { call, send } = await serveStore();
    await call("POST", "/namespaces/default/records", { body: { id: "r" } });
    let response: Response | null = null;
    const sent = send(method, path, { as, body }).then((begun) => (response = begun));
    while (response === null) await vi.advanceTimersByTimeAsync(50);
    let ended = false;
    const text = (await sent).text().finally(() => (ended = true));
    // The wait itself may begin a little after the answer has.
    while (!ended) await vi.advanceTimersByTimeAsync(1_000);
    const [spaces = ""] = /^\n*/.exec(await text) ?? [];
    expect(spaces.length).toBeGreaterThanOrEqual(29);
    expect(JSON.parse(await text)).toMatchObject(answer);
  },
);
