import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { durableSessions } from "../../durable-objects/durable-sessions";
import type { SessionCalls } from "../../durable-objects/rpc";
import type { Session } from "../../src/service/sessions";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";
import { allReady, aSession, attached, call, describeSessions, leave, ready } from "./contract";

const HOUR = 3_600_000;
const STREAM = { kind: "stream" } as const;

const objectOf = ({ key }: Session) => objects.SESSIONS.getByName(key);

async function setUp() {
  const deployment = await emptyDeployment();
  const session = aSession("s", deployment.now());
  return { ...deployment, sessions: durableSessions({ objects }), session, object: () => objectOf(session) };
}

describeSessions("durable sessions", async () => ({
  ...(await setUp()),
  expire: async (session) => {
    expect(await runDurableObjectAlarm(objectOf(session))).toBe(true);
  },
}));

describe("a session's object", () => {
  it("stores nothing for being asked, listened to or answered", async () => {
    const { sessions, session, object } = await setUp();
    const [stream, one] = [attached(sessions, session, STREAM), attached(sessions, session, call("one", 1))];
    await allReady(stream, one);
    await sessions.logLevel(session);
    await sessions.replay(session, "a.0");
    await sessions.answer(session, "one", "name", "1");
    await sessions.cancel(session, 1);
    await expect.poll(() => one.heard.length).toBe(3);
    expect(await storedIn(object())).toEqual(NOTHING);
    await leave(stream, one);
    expect(await storedIn(object())).toEqual(NOTHING);
  });

  it.each<[string, (calls: SessionCalls, session: Session) => Promise<unknown>]>([
    ["an event", (calls, session) => calls.append(session, "a", "1")],
    ["a log level", (calls, session) => calls.setLogLevel(session, "debug")],
    ["a task that asks", (calls, session) => calls.asking(session, "task")],
    ["an idempotency key", (calls, session) => calls.claim(session, "tool", { key: "k", digest: "d" }, "one")],
  ])("has an alarm for the session's end from the first thing it keeps: %s", async (_, keep) => {
    const { sessions, session, object, now, advance } = await setUp();
    advance(HOUR);
    await keep(sessions, session);
    const { alarm } = await storedIn(object());
    // The alarm is in the platform's time, whatever the product's clock says.
    expect(Math.abs((alarm ?? 0) - Date.now() - (session.expiresAt - now()))).toBeLessThan(10_000);
    advance(HOUR);
    await keep(sessions, session);
    expect((await storedIn(object())).alarm).toBe(alarm);
    await runDurableObjectAlarm(object());
    expect(await storedIn(object())).toEqual(NOTHING);
  });

  it("goes by itself when the time comes, and once more when something came too late", async () => {
    const { sessions, now, object } = await setUp();
    const short = { key: "s", expiresAt: now() + 300 };
    await sessions.append(short, "a", "1");
    const stream = attached(sessions, short, STREAM);
    await stream.ended;
    await expect.poll(() => storedIn(object())).toEqual(NOTHING);
    await sessions.append(short, "a", "2");
    await expect.poll(() => storedIn(object())).toEqual(NOTHING);
  });

  it("survives an eviction with all it keeps, and with whoever is connected", async () => {
    const { sessions, session, object } = await setUp();
    await sessions.append(session, "a", "1");
    await sessions.append(session, "a", "2");
    await sessions.setLogLevel(session, "debug");
    await sessions.asking(session, "task");
    await sessions.claim(session, "tool", { key: "k", digest: "d" }, "one");
    const [stream, one] = [attached(sessions, session, STREAM), attached(sessions, session, call("one", 1))];
    await allReady(stream, one);
    const stored = await storedIn(object());
    await evictDurableObject(object());
    expect(await storedIn(object())).toEqual(stored);
    expect((await sessions.replay(session, "a.1"))?.events).toEqual([{ id: "a.2", message: "2" }]);
    expect(await sessions.logLevel(session)).toBe("debug");
    await evictDurableObject(object());
    expect(await sessions.answer(session, "one", "name", "1")).toBe(true);
    await evictDurableObject(object());
    await sessions.asking(session, "another");
    await expect.poll(() => stream.heard).toEqual([ready("task"), { kind: "asking", task: "another" }]);
    await expect.poll(() => one.heard).toEqual([ready(), { kind: "answer", key: "name", answer: "1" }]);
    expect(await sessions.append(session, "a", "3")).toBe("a.3");
    await leave(stream, one);
  });

  it.each<[string, (stub: DurableObjectStub) => Promise<unknown>]>([
    [
      "its sockets broke",
      (stub) =>
        runInDurableObject(stub, (_, state) => state.getWebSockets().map((socket) => socket.close(1012, "restart"))),
    ],
    ["it was reset", (stub) => runInDurableObject(stub, (_, state) => state.abort("reset")).catch(() => {})],
  ])("is attached to again when %s, and says ready again", async (_, breakAll) => {
    const { sessions, session, object } = await setUp();
    await sessions.setLogLevel(session, "debug");
    const [stream, one] = [attached(sessions, session, STREAM), attached(sessions, session, call("one", "1"))];
    await allReady(stream, one);
    await breakAll(object());
    await sessions.asking(session, "missed");
    await expect.poll(() => [stream.heard.length, one.heard.length], { timeout: 5_000 }).toEqual([2, 2]);
    expect([stream.heard.at(-1), one.heard.at(-1)]).toEqual([ready("missed"), ready()]);
    expect(await sessions.cancel(session, "1")).toBe(true);
    await expect.poll(() => one.heard.at(-1)).toEqual({ kind: "cancelled" });
    await leave(stream, one);
  });

  it("forgets a stream that is far behind, so that they cannot pile up", async () => {
    const { sessions, session, object } = await setUp();
    await sessions.append(session, "first", "1");
    await runInDurableObject(object(), async (instance) => {
      for (let n = 0; n < 1_100; n += 1) await (instance as unknown as SessionCalls).append(session, `s${n}`, "1");
    });
    const { stream = [], event = [] } = (await storedIn(object())).rows;
    expect([stream.length, event.length]).toEqual([1_000, 100]);
    expect(await sessions.replay(session, "first.1")).toBeNull();
    expect(await sessions.replay(session, "s1099.0")).not.toBeNull();
  });
});
