// What went wrong in other A2A servers, tried on this one over HTTP.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { openHook, type Hook } from "./a2a-hook";
import { a2aWire, collected, newsOf, skill, stateOf, textOf, type A2aWire } from "./a2a-wire";

let server: DevServer;
let hook: Hook;
let wire: A2aWire;
beforeAll(async () => {
  hook = await openHook();
  server = await startDevServer({
    env: "owners",
    vars: { ALLOW_LOCAL_FETCH: "true", TASK_POLL_INTERVAL_MS: "250" },
  });
  wire = a2aWire(server);
});
afterAll(async () => {
  await server.stop();
  await hook.stop();
});

const total = async (by = wire): Promise<number> => (await by.call("ListTasks", { pageSize: 1 })).totalSize;
const said = (line: string): Promise<boolean> =>
  vi.waitUntil(() => server.output().includes(line), { timeout: 55_000, interval: 50 });
const isSaid = (line: string): boolean => server.output().includes(line);
const slow = (ms: number, text = "done") => ({ content: skill("slow", { ms, text }) });

describe("a task id", () => {
  it("of the client's own making makes no task (G01)", async () => {
    const before = await total();
    for (const taskId of ["11111111-2222-4333-8444-555555555555", "A".repeat(43)]) {
      const { error } = await wire.answer("SendMessage", wire.sending({ content: "hi", taskId }, false));
      expect(error).toMatchObject({ code: -32001, data: [{ reason: "TASK_NOT_FOUND" }] });
    }
    expect(await total()).toBe(before);
  });
});

describe("a cancel", () => {
  it("may be said twice, and is refused to what has ended otherwise (G02)", async () => {
    const { id } = await wire.send(slow(60_000));
    const [first, second] = [await wire.call("CancelTask", { id }), await wire.call("CancelTask", { id })];
    expect(stateOf(first)).toBe("canceled");
    expect(second).toEqual(first);
    const done = await wire.send(slow(1), { wait: true });
    const { error } = await wire.answer("CancelTask", { id: done.id });
    expect(error).toMatchObject({ code: -32002, data: [{ reason: "TASK_NOT_CANCELABLE" }] });
    expect(await wire.get(done.id)).toEqual(done);
  });
});

describe("a subscription", () => {
  it("begins with the task, is the same for everybody, and ends with it; of one that ended it is refused (G03)", async () => {
    const { id } = await wire.begin("steps", { count: 4, ms: 700 });
    const streams = await Promise.all([1, 2, 3].map(() => wire.request("SubscribeToTask", { id })));
    for (const { headers } of streams) expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    const [first = [], ...others] = await Promise.all(streams.map(collected));
    expect(first[0].task).toMatchObject({ id, contextId: expect.any(String) });
    expect(first.slice(-2).map(newsOf)).toEqual(["artifact", "completed"]);
    // One that came a moment later has begun a moment later: from there on they are the same.
    for (const events of others) {
      const shared = Math.min(first.length, events.length) - 1;
      expect(events.slice(-shared)).toEqual(first.slice(-shared));
    }
    const refused = await wire.request("SubscribeToTask", { id });
    expect([refused.status, refused.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await refused.json()).toMatchObject({ error: { code: -32004 } });
  });
});

describe("a send", () => {
  it("returns at once when it is to, and else when the task rests (G04)", async () => {
    const at = await wire.send(slow(20_000, "G04"));
    expect(["submitted", "working"]).toContain(stateOf(at));
    expect(isSaid("slow finished: G04")).toBe(false);
    await wire.call("CancelTask", { id: at.id });
    const done = await wire.send(slow(1_200, "waited for"), { wait: true });
    expect([stateOf(done), textOf(done)]).toEqual(["completed", "waited for"]);
    expect(stateOf(await wire.begin("ask", { keys: ["k"] }, { wait: true }))).toBe("input-required");
    expect(stateOf(await wire.begin("sign_in", {}, { wait: true }))).toBe("auth-required");
  });

  it("to a task that has ended is refused, and changes nothing (G07)", async () => {
    const done = await wire.send(slow(1), { wait: true });
    const { error } = await wire.answer("SendMessage", wire.sending({ content: "more", taskId: done.id }, false));
    expect(error).toMatchObject({
      code: -32004,
      data: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNSUPPORTED_OPERATION" }],
    });
    expect(await wire.get(done.id)).toEqual(done);
  });

  it("with the same key makes one task, of one owner, of one content (G08)", async () => {
    const other = a2aWire(server, "1.0", "owner-b");
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const more = { messageId: "m8" };
    const same = { ...slow(500, "G08"), more };
    const twins = await Promise.all([1, 2].map(() => wire.send(same, { headers })));
    const [{ id }] = twins as [Wire];
    expect(twins.map((task) => task.id)).toEqual([id, id]);
    const another = await wire.answer("SendMessage", wire.sending({ ...slow(501, "G08"), more }, false), { headers });
    expect(another.error?.code).toBe(40900);
    expect((await other.send(same, { headers })).id).not.toBe(id);
    expect((await wire.send(same)).id).not.toBe(id);
    await wire.until(id, "completed");
    // A follow-up is one without a key, too.
    const asking = await wire.begin("ask", { keys: ["k"] }, { wait: true });
    const answer = { content: "blue", taskId: asking.id, more: { messageId: "m9" } };
    const [once, twice] = [await wire.send(answer, { wait: true }), await wire.send(answer, { wait: true })];
    expect([stateOf(once), twice]).toEqual(["completed", once]);
    expect(once.history.filter(({ messageId }: Wire) => messageId === "m9")).toHaveLength(1);
  });
});

describe("names and shapes", () => {
  it("of the older generation are not taken for the newer, nor unknown versions for either (G05)", async () => {
    const old = a2aWire(server, "mixed");
    const told = old.sending(slow(1), true);
    const version = (value: string) => ({ headers: { "A2A-Version": value } });
    const code = async (method: string, params: object, options = {}) =>
      (await old.answer(method, params, options)).error?.code;
    expect(await code("message/send", told, version("1.0"))).toBe(-32601);
    expect(await code("SendMessage", told, version("1.0"))).toBe(-32602);
    expect(await code("SendMessage", told, version("9.9"))).toBe(-32009);
    // Without the header, by shape.
    expect((await old.call("SendMessage", told)).kind).toBe("task");
    const { task } = await old.call("SendMessage", wire.sending(slow(1), true));
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const noise = { unknown: { field: 1 }, tenant: "" };
    const sent = wire.sending({ ...slow(1), more: noise }, true, noise);
    const { task: clean } = await wire.call("SendMessage", { ...sent, ...noise });
    expect(JSON.stringify(clean)).toMatch(/"TASK_STATE_COMPLETED".*"ROLE_USER"/);
    expect(JSON.stringify(clean)).not.toContain("unknown");
  });

  it("of an empty page are all there, and newest come first (G06)", async () => {
    const empty = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };
    expect(await wire.call("ListTasks", { contextId: "never-used" })).toEqual(empty);
    const contextId = crypto.randomUUID();
    const ids: string[] = [];
    for (const ms of [1, 2]) ids.unshift((await wire.send({ ...slow(ms), more: { contextId } }, { wait: true })).id);
    await vi.waitUntil(async () => {
      const { tasks } = await wire.call("ListTasks", { contextId, status: "TASK_STATE_COMPLETED" });
      return tasks.length === 2;
    });
    const listed = async (more = {}) => (await wire.call("ListTasks", { contextId, ...more })).tasks as Wire[];
    expect((await listed()).map(({ id }) => id)).toEqual(ids);
    for (const task of await listed()) expect(task).not.toHaveProperty("artifacts");
    for (const task of await listed({ includeArtifacts: true })) expect(textOf(task)).toBe("done");
  });
});

describe("a push target of the first message", () => {
  const begin = (name: string, ms: number) =>
    wire.send(slow(ms, name), {
      configuration: { taskPushNotificationConfig: { id: "mine", url: hook.at(name), token: "a-token" } },
    });

  it("hears of the end of a short task, with its token (G09)", async () => {
    const { id } = await begin("short", 20);
    const posts = await hook.until("short", (all) => newsOf(all.at(-1)?.body ?? {}) === "completed");
    expect(posts.at(-1)?.body.statusUpdate.taskId).toBe(id);
    for (const { headers } of posts) expect(headers["x-a2a-notification-token"]).toBe("a-token");
  });

  it("that is dead delays nothing, and one that leads elsewhere is not followed (G09)", async () => {
    hook.answer("dead", "silence");
    hook.answer("leads", hook.at("elsewhere"));
    const [dead, leads] = await Promise.all([begin("dead", 20), begin("leads", 20)]);
    await Promise.all([wire.until(dead.id, "completed"), wire.until(leads.id, "completed")]);
    await hook.until("leads", (posts) => posts.length > 0);
    const facts = async () => Object.values((await wire.get(leads.id)).metadata)[0] as Wire;
    await vi.waitUntil(async () => (await facts()).push?.[0].failures > 0, { timeout: 55_000, interval: 250 });
    expect(hook.posts("elsewhere")).toEqual([]);
  });
});

describe("a client that waits", () => {
  it("sees at once that it is waited with, and now and then that it still is (P01)", { timeout: 120_000 }, async () => {
    const { id } = await wire.send(slow(18_000, "quiet"));
    const subscribed = await wire.request("SubscribeToTask", { id });
    const sent = await wire.request("SendMessage", wire.sending(slow(5_000, "held"), true));
    for (const { status, headers } of [subscribed, sent]) {
      expect([status, headers.get("x-accel-buffering")]).toEqual([200, "no"]);
      expect(headers.get("cache-control")).toMatch(/no-cache|no-store/);
      expect(headers.get("cache-control")).toContain("no-transform");
    }
    expect([isSaid("slow finished: quiet"), isSaid("slow finished: held")]).toEqual([false, false]);
    const [, space = "", body = ""] = /^(\s*)(.*)$/s.exec(await sent.text()) ?? [];
    expect(space.length).toBeGreaterThan(2);
    expect(textOf(JSON.parse(body).result.task)).toBe("held");
    const text = await subscribed.text();
    expect(text).toMatch(/^:[^]*"task"[^]*^: keep-alive$[^]*"TASK_STATE_COMPLETED"/m);
  });

  it("and leaves takes nothing along: the task goes on (P07)", async () => {
    const leaving = new AbortController();
    const options = { signal: leaving.signal };
    const more = { contextId: crypto.randomUUID() };
    // Of this one there is news, by which it is noticed that nobody listens.
    const steps = wire.sending({ content: skill("steps", { count: 8, ms: 500 }), more }, true);
    const stream = await wire.request("SendStreamingMessage", steps, options);
    const sent = await wire.request("SendMessage", wire.sending({ ...slow(4_000, "sent"), more }, true), options);
    expect([stream.status, sent.status]).toEqual([200, 200]);
    await said("slow began: sent");
    leaving.abort();
    await said("slow finished: sent");
    expect(isSaid("slow stopped: sent")).toBe(false);
    const { tasks } = await wire.call("ListTasks", more);
    const done = await Promise.all(tasks.map(({ id }: Wire) => wire.until(id, "completed")));
    expect(done.map(textOf).toSorted()).toEqual(["8 steps", "sent"]);
  });
});
