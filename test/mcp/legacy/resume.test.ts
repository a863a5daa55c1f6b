import { describe, expect, it } from "vitest";
import { fixtureTools } from "../../fixtures/tools";
import { gate } from "../../support/gate";
import { connect } from "../../support/legacy";
import { serve, until } from "../../support/mcp";

const forms = { elicitation: {} };

describe("the stream of a held call", () => {
  it("is named by its first event, and taken up again by that after it broke", async () => {
    const { tool, began, runs, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long" }, { id: 42 });
    await began;
    await until(() => stream.events.length, Boolean);
    const [prime] = stream.events;
    expect(prime).toEqual({ data: "", id: expect.stringMatching(/\.0$/), retry: 1_000 });
    await stream.leave();
    const again = await client.listen({ "Last-Event-ID": prime?.id ?? "" });
    open();
    await again.closed;
    expect(again.messages).toEqual([
      { jsonrpc: "2.0", id: 42, result: { content: [{ type: "text", text: "through" }] } },
    ]);
    expect(runs()).toBe(1);
  });

  it("may break again, and be taken up after the answer was there", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const first = await client.open("tools/call", { name: "long" }, { id: "c" });
    await began;
    await until(() => first.events.length, Boolean);
    await first.leave();
    const second = await client.listen({ "Last-Event-ID": first.events[0]?.id ?? "" });
    await until(() => second.events.length, Boolean);
    expect(second.events[0]?.id).not.toBe(first.events[0]?.id);
    await second.leave();
    open();
    const third = await client.listen({ "Last-Event-ID": second.events[0]?.id ?? "" });
    await third.closed;
    expect(third.messages.at(-1)).toMatchObject({ id: "c", result: { content: [{ text: "through" }] } });
  });

  it("asks again on the stream that is taken up", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: forms });
    const first = await client.open("tools/call", { name: "ask", arguments: { keys: ["k1"] } });
    const question = await first.request();
    await first.leave();
    const second = await client.listen({ "Last-Event-ID": first.events[0]?.id ?? "" });
    const again = await second.request();
    expect(again.id).not.toBe(question.id);
    await client.answer(again, { action: "accept", content: { v: "yes" } });
    await second.closed;
    expect(second.messages.at(-1).result.content[0].text).toContain("yes");
  });

  it("is nobody else's to take up", async () => {
    const { tool, began, open } = gate("long", "optional");
    const served = await serve([tool], { owners: ["a", "b"] });
    const client = await connect(served, { token: "a" });
    const stream = await client.open("tools/call", { name: "long" });
    await began;
    await until(() => stream.events.length, Boolean);
    const stranger = await connect(served, { token: "b" });
    const taken = await stranger.listen({ "Last-Event-ID": stream.events[0]?.id ?? "" });
    open();
    await stream.closed;
    expect(taken.messages).toEqual([]);
    await taken.leave();
  });

  it("has an end that is not to be come back for: 405 stops a client that does", async () => {
    const client = await connect(await serve(fixtureTools));
    const stream = await client.open("tools/call", {
      name: "slow",
      arguments: { ms: 400, text: "no", rpcError: true },
    });
    await stream.closed;
    expect(stream.messages.at(-1).error.code).toBe(-32000);
    const last = stream.events.at(-1);
    expect(last?.id).toMatch(/\.1$/);
    expect((await client.get({ "Last-Event-ID": last?.id ?? "" })).status).toBe(405);
  });

  it("has no such event where it is quick, nor on older revisions", async () => {
    const { tool, open } = gate("long", "optional");
    const client = await connect(await serve([tool]), { version: "2025-06-18" });
    const stream = await client.open("tools/call", { name: "long" });
    open();
    await stream.closed;
    expect(stream.events.map(({ id }) => id)).toEqual([undefined]);
    const quick = await (await connect(await serve([tool]))).send("tools/call", { name: "long" });
    expect(quick.headers.get("content-type")).toBe("application/json");
  });
});

describe("the stream of a call whose client chose long names", () => {
  it.each([
    ["id", { id: "i".repeat(257) }, {}],
    ["progress token", { id: 1 }, { _meta: { progressToken: "p".repeat(257) } }],
  ])("has no events to come back for: %s", async (_, options, more) => {
    const { tool, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long", ...more }, options);
    open();
    await stream.closed;
    expect(stream.messages.at(-1)).toMatchObject({ id: options.id, result: {} });
    expect(stream.events.every(({ id }) => id === undefined)).toBe(true);
  });
});

describe("the stream of tasks/result", () => {
  it("is taken up in the same way", async () => {
    const { tool, began, open } = gate("long", "optional");
    const client = await connect(await serve([tool]));
    const { taskId } = await client.task("long");
    await began;
    const first = await client.open("tasks/result", { taskId }, { id: 7 });
    await until(() => first.events.length, Boolean);
    await first.leave();
    const second = await client.listen({ "Last-Event-ID": first.events[0]?.id ?? "" });
    open();
    await second.closed;
    expect(second.messages.at(-1)).toMatchObject({ id: 7, result: { content: [{ text: "through" }] } });
  });
});
