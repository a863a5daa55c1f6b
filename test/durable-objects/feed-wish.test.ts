import { describe, expect, it } from "vitest";
import { feedWish, wishHeaders } from "../../durable-objects/feed-socket";

const read = (headers: Readonly<Record<string, string>>): object =>
  feedWish(new Request("https://holdfast.internal/feed", { headers }));

// An object and the Worker that asks it may be of different versions for a while: these spellings are for good.
describe("what is wanted of a feed", () => {
  it.each([
    ["a task's", { owner: '["","\u00e9 100%\u0001"]', after: 3, deliver: 2, streams: 50 }],
    ["an anonymous one's", { owner: null, deliver: 0, streams: 50 }],
    ["a session's", { role: { kind: "call", call: "c", requestId: "%7B" } }],
    ["a record's", { record: { ask: { key: { id: "50 % \u6587" }, asker: { owner: null } }, after: 0 }, streams: 5 }],
    ["an owner's", { streams: 50 }],
  ])("is read as it was said: %s", (_, wish) => {
    expect(read(wishHeaders(wish))).toEqual(wish);
  });

  it("is printable ASCII, without a per cent sign, which earlier objects would decode", () => {
    const said = wishHeaders({ owner: "\u00e9\u6587\u0007 100%", after: undefined });
    expect(said).toEqual({ "x-holdfast-owner": '"\\u00e9\\u6587\\u0007 100\\u0025"' });
  });

  it("is heard of earlier Workers, in their spellings", () => {
    expect(
      read({
        upgrade: "websocket",
        "x-holdfast-owner": '"[\\"\\",\\"50%\\"]"',
        "x-holdfast-after": "7",
        "x-holdfast-deliver": "1",
        "x-holdfast-streams": "50",
        "x-holdfast-role": '{"kind":"stream"}',
        "x-holdfast-record": encodeURIComponent('{"ask":{"key":{"id":"50 %"}},"after":2}'),
      }),
    ).toEqual({
      owner: '["","50%"]',
      after: 7,
      deliver: 1,
      streams: 50,
      role: { kind: "stream" },
      record: { ask: { key: { id: "50 %" } }, after: 2 },
    });
  });
});
