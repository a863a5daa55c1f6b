import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { durableRemoteTools } from "../../durable-objects/durable-remote-tools";
import { MAX_REMOTE_TOOLS, type ToolListNews } from "../../src/service/tool-catalog";
import type { RemoteTool } from "../../src/tool/remote-tool";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";
import { remote } from "../support/remote";

const theObject = () => objects.TOOLS.getByName("tools");

async function setUp() {
  await emptyDeployment();
  return durableRemoteTools(objects);
}

/** The news as they come, until the test has seen enough. */
function listening(tools: Awaited<ReturnType<typeof setUp>>) {
  const enough = new AbortController();
  const news = tools.changes(enough.signal)[Symbol.asyncIterator]();
  const next = async (): Promise<ToolListNews> => (await news.next()).value;
  return { next, stop: () => enough.abort(), ended: async () => (await news.next()).done };
}

/** As a network or a deploy cuts them off. */
const cutOff = (meanwhile: (instance: { put(name: string, text: string): Promise<unknown> }) => unknown = () => {}) =>
  runInDurableObject(theObject(), async (instance, ctx) => {
    for (const socket of ctx.getWebSockets()) socket.close(1011);
    await meanwhile(instance as never);
  });

const connections = () =>
  runInDurableObject(
    theObject(),
    (_, ctx) => ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length,
  );

describe("the object of declared tools", () => {
  it("stores nothing when it is only looked at", async () => {
    const tools = await setUp();
    expect(await tools.get("render")).toBeNull();
    expect(await tools.list()).toEqual([]);
    expect(await tools.remove("render")).toBe(false);
    const { next, stop } = listening(tools);
    expect(await next()).toBe("ready");
    stop();
    expect(await storedIn(theObject())).toEqual(NOTHING);
  });

  it("gives back what was declared, by name, until it is removed", async () => {
    const tools = await setUp();
    const odd = {
      type: "object",
      description: "é \u2028 \ud800",
      properties: JSON.parse('{"__proto__":{"type":"null"}}'),
    };
    const first = remote({ name: "b", inputSchema: odd as RemoteTool["inputSchema"], ttlMs: null });
    await tools.put(first);
    await tools.put(remote({ name: "a" }));
    await tools.put(remote({ name: "C" }));
    expect((await tools.list()).map(({ name }) => name)).toEqual(["C", "a", "b"]);
    expect(JSON.stringify(await tools.get("b"))).toBe(JSON.stringify(first));
    await tools.put(remote({ name: "a", title: "Another" }));
    expect(await tools.get("a")).toEqual(remote({ name: "a", title: "Another" }));
    expect([await tools.remove("a"), await tools.remove("a"), await tools.get("a")]).toEqual([true, false, null]);
    expect((await tools.list()).map(({ name }) => name)).toEqual(["C", "b"]);
  });

  it("takes so many and no more, however they come", async () => {
    const tools = await setUp();
    const puts = Array.from({ length: MAX_REMOTE_TOOLS + 20 }, (_, n) => tools.put(remote({ name: `t${n}` })));
    const refused = (await Promise.allSettled(puts)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(20);
    for (const put of refused)
      expect(put).toMatchObject({ reason: { code: "limit_reached", data: { limit: "MAX_REMOTE_TOOLS" } } });
    const [kept] = await tools.list();
    await tools.put({ ...(kept as RemoteTool), title: "Changed" });
    await tools.remove((kept as RemoteTool).name);
    await tools.put(remote());
    expect(await tools.list()).toHaveLength(MAX_REMOTE_TOOLS);
  });
});

describe("the news of declared tools", () => {
  it("is of each change, and ends when nobody listens", async () => {
    const tools = await setUp();
    const one = listening(tools);
    const other = listening(tools);
    for (const { next } of [one, other]) expect(await next()).toBe("ready");
    await tools.put(remote());
    // The same words again are no change.
    await tools.put(remote());
    await tools.remove("another");
    await tools.remove("render");
    for (const { next } of [one, other]) expect([await next(), await next()]).toEqual(["changed", "changed"]);
    const { rows } = await storedIn(theObject());
    expect(rows).toMatchObject({ list: [{ tools: 0, revision: 2 }], tool: [] });
    for (const { stop, ended } of [one, other]) {
      stop();
      expect(await ended()).toBe(true);
    }
  });

  it("has what happened while the connection was lost, and nothing when nothing did", async () => {
    const tools = await setUp();
    const { next, stop, ended } = listening(tools);
    expect(await next()).toBe("ready");
    await cutOff((object) => object.put("render", JSON.stringify(remote())));
    expect(await next()).toBe("changed");
    await cutOff();
    const news = next();
    await expect.poll(connections, { timeout: 20_000 }).toBe(1);
    await tools.remove("render");
    expect(await news).toBe("changed");
    expect((await storedIn(theObject())).rows["list"]).toMatchObject([{ revision: 2 }]);
    stop();
    expect(await ended()).toBe(true);
  });
});
