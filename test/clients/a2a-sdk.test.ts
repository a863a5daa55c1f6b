// The official client of A2A 1.0, over both of its bindings.
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { inOrder, openHook, type Hook } from "./a2a-hook";
import { connectA2a, followed, heardIn, request, sendFor, STATE, textOf, type Binding } from "./a2a-sdk-client";
import { newsOf, skill } from "./a2a-wire";

let server: DevServer;
let hook: Hook;
beforeAll(async () => {
  hook = await openHook();
  server = await startDevServer({ env: "owners", vars: { ALLOW_LOCAL_FETCH: "true" } });
});
afterAll(async () => {
  await server.stop();
  await hook.stop();
});

describe.each<[Binding]>([["JSONRPC"], ["HTTP+JSON"]])("the official client over %s", (binding) => {
  let client: Client;
  let other: Client;
  beforeAll(async () => {
    [client, other] = await Promise.all([connectA2a(server.url, binding), connectA2a(server.url, binding, "owner-b")]);
  });

  const slow = (ms: number, text = "done") => skill("slow", { ms, text });
  const at = (taskId: string, id: string) => ({ tenant: "", taskId, id });
  const statusOf = async (id: string) => (await client.getTask({ tenant: "", id })).status;
  const settled = (id: string, state: number) =>
    vi.waitUntil(async () => (await statusOf(id))?.state === state, { timeout: 55_000, interval: 1_000 });

  it("finds the agent by its card, and is told more when it is known", async () => {
    expect([client.transport.protocolName, client.protocolVersion]).toEqual([binding, "1.0"]);
    const card = await client.getAgentCard();
    expect(card.skills.map(({ id }) => id)).toContain("slow");
    const schemas = card.capabilities?.extensions.find(({ uri }) => uri.includes("skill-schemas"))?.params;
    expect(schemas?.["slow"]).toMatchObject({ input: { required: ["ms"] } });
  });

  it("waits for the result of what it sends", async () => {
    const task = await sendFor(client, slow(300, "at last"));
    expect([task.status?.state, textOf(task)]).toEqual([STATE.completed, "at last"]);
  });

  it("gets a message from a skill that makes no tasks", async () => {
    const message = await client.sendMessage(request(skill("greet", { name: "Bob" })));
    expect(message).toMatchObject({ role: 2, parts: [{ content: { value: "Hello, Bob!" } }] });
  });

  it("is asked, answers in words, and reads the conversation afterwards", async () => {
    const asking = await sendFor(client, skill("ask", { keys: ["k"] }));
    const { id, contextId } = asking;
    expect(asking.status).toMatchObject({ state: STATE.inputRequired, message: { role: 2, taskId: id, contextId } });
    expect(asking.status?.message?.parts[0]?.content?.value).toBe("What is k?");
    const answered = await sendFor(client, "blue", { taskId: id, contextId });
    expect(answered).toMatchObject({ id, contextId, status: { state: STATE.completed } });
    expect(JSON.parse(textOf(answered))).toEqual({ k: { action: "accept", content: { v: "blue" } } });
    const begun = `user: ${JSON.stringify(skill("ask", { keys: ["k"] }))}`;
    const heard = async (historyLength?: number) =>
      heardIn(await client.getTask({ tenant: "", id, ...(historyLength === undefined ? {} : { historyLength }) }));
    expect(await heard()).toEqual([begun, "agent: What is k?", "user: blue"]);
    expect(await heard(1)).toEqual(["user: blue"]);
    expect(await heard(0)).toEqual([]);
    await expect(sendFor(client, "more", { taskId: id })).rejects.toThrow(/has ended/);
  });

  it("answers several questions as data", async () => {
    const { id: taskId } = await sendFor(client, skill("ask", { keys: ["k1", "k2"] }));
    const inputResponses = { k1: { action: "accept", content: { v: "1" } }, k2: { action: "decline" } };
    const task = await sendFor(client, { inputResponses }, { taskId });
    expect(JSON.parse(textOf(task))).toEqual(inputResponses);
  });

  it("streams a task from its beginning to its result", async () => {
    const events = await followed(client.sendMessageStream(request(skill("steps", { count: 3, ms: 200 }))));
    expect(events[0]).toMatch(/^task [12]$/);
    expect(events.slice(-2)).toEqual(["artifact 3 steps", `status ${STATE.completed}`]);
    expect(new Set(events.slice(1, -2))).toEqual(new Set([`status ${STATE.working}`]));
  });

  it("streams until it is asked, and again from the answer on", async () => {
    let taskId = "";
    const asking = client.sendMessageStream(request(skill("ask", { keys: ["k"] })));
    const watched = (async function* () {
      for await (const event of asking) {
        if (event.payload?.$case === "task") taskId = event.payload.value.id;
        yield event;
      }
    })();
    expect((await followed(watched)).at(-1)).toBe(`status ${STATE.inputRequired}`);
    const answered = await followed(client.sendMessageStream(request("blue", { taskId })));
    expect(answered[0]).toMatch(/^task /);
    expect(answered.at(-1)).toBe(`status ${STATE.completed}`);
  });

  it("subscribes to a task that goes on, twice, and hears the same; of one that has ended it is told so", async () => {
    const { id } = await sendFor(client, slow(2_500, "for both"), {}, { returnImmediately: true });
    const subscribed = [client, client].map((each) => followed(each.resubscribeTask({ tenant: "", id })));
    const [first, second] = await Promise.all(subscribed);
    expect(first?.[0]).toMatch(/^task [12]$/);
    expect(first?.slice(-2)).toEqual(["artifact for both", `status ${STATE.completed}`]);
    expect(second?.slice(-2)).toEqual(first?.slice(-2));
    await expect(followed(client.resubscribeTask({ tenant: "", id }))).rejects.toThrow(/has ended/);
  });

  it("has news pushed, with its token and credentials, in order and to the end", async () => {
    const config = { tenant: "", id: "mine", taskId: "", url: hook.at(binding), token: "a-token" };
    const authentication = { scheme: "Bearer", credentials: "a-secret" };
    const task = await sendFor(
      client,
      skill("ask", { keys: ["k"] }),
      {},
      { taskPushNotificationConfig: { ...config, authentication } },
    );
    await sendFor(client, "blue", { taskId: task.id });
    const posts = await hook.until(binding, (all) => newsOf(all.at(-1)?.body ?? {}) === "completed");
    expect(inOrder(posts)).toEqual(["task submitted", "working", "input-required", "working", "artifact", "completed"]);
    for (const { headers } of posts) {
      expect(headers).toMatchObject({
        authorization: "Bearer a-secret",
        "x-a2a-notification-token": "a-token",
        "content-type": "application/a2a+json",
      });
    }
  });

  it("sets, reads, lists and deletes push configurations, and is told no credentials", async () => {
    const { id: taskId } = await sendFor(client, slow(60_000), {}, { returnImmediately: true });
    const authentication = { scheme: "Basic", credentials: "a-secret" };
    const config = { ...at(taskId, "c1"), url: hook.at("unused"), token: "a-token", authentication };
    const told = { ...config, token: "", authentication: { scheme: "Basic", credentials: "" } };
    expect(await client.createTaskPushNotificationConfig(config)).toEqual(told);
    expect(await client.getTaskPushNotificationConfig(at(taskId, "c1"))).toEqual(told);
    const list = { tenant: "", taskId, pageSize: 0, pageToken: "" };
    expect((await client.listTaskPushNotificationConfig(list)).configs).toEqual([told]);
    await client.deleteTaskPushNotificationConfig(at(taskId, "c1"));
    expect((await client.listTaskPushNotificationConfig(list)).configs).toEqual([]);
    await client.cancelTask({ tenant: "", id: taskId, metadata: undefined });
  });

  it("cancels as often as it likes, and not what has ended otherwise (G02)", async () => {
    const cancel = (id: string) => client.cancelTask({ tenant: "", id, metadata: undefined });
    const { id } = await sendFor(client, slow(60_000), {}, { returnImmediately: true });
    for (const _ of [1, 2]) expect(await cancel(id)).toMatchObject({ id, status: { state: STATE.canceled } });
    const done = await sendFor(client, slow(1));
    await expect(cancel(done.id)).rejects.toThrow(/has ended already/);
    expect((await statusOf(done.id))?.state).toBe(STATE.completed);
  });

  it("lists its tasks, newest change first and page by page, and only its own", async () => {
    const contextId = crypto.randomUUID();
    const ids: string[] = [];
    for (const text of ["1", "2", "3"]) ids.unshift((await sendFor(client, slow(1, text), { contextId })).id);
    const page = { tenant: "", contextId, status: 0, pageToken: "", statusTimestampAfter: undefined };
    await Promise.all(ids.map((id) => settled(id, STATE.completed)));
    const first = await client.listTasks({ ...page, pageSize: 2, includeArtifacts: true });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3, tasks: [{ contextId }, { contextId }] });
    expect(first.tasks.map(textOf)).toEqual(["3", "2"]);
    const rest = await client.listTasks({ ...page, pageSize: 2, pageToken: first.nextPageToken });
    expect(rest).toMatchObject({ nextPageToken: "", totalSize: 3 });
    expect([...first.tasks, ...rest.tasks].map(({ id }) => id)).toEqual(ids);
    expect(rest.tasks[0]).toMatchObject({ artifacts: [], history: [] });
    expect((await other.listTasks(page)).tasks).toEqual([]);
  });

  it("finds nothing of another owner's", async () => {
    const { id } = await sendFor(client, skill("ask", { keys: ["k"] }));
    for (const attempt of [
      () => other.getTask({ tenant: "", id }),
      () => other.cancelTask({ tenant: "", id, metadata: undefined }),
      () => sendFor(other, "blue", { taskId: id }),
      () => followed(other.resubscribeTask({ tenant: "", id })),
      () => other.listTaskPushNotificationConfig({ tenant: "", taskId: id, pageSize: 0, pageToken: "" }),
    ])
      await expect(attempt()).rejects.toMatchObject({ name: "TaskNotFoundError" });
    expect((await statusOf(id))?.state).toBe(STATE.inputRequired);
  });
});
