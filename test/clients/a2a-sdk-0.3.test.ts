// The official client of A2A 0.3.
import type { Message, MessageSendConfiguration, Task } from "a2a-sdk-0.3";
import {
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
  type Client,
} from "a2a-sdk-0.3/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { inOrder, openHook, type Hook } from "./a2a-hook";
import { heardIn, newsOf, saidBy, skill, stateOf, textOf } from "./a2a-wire";

let server: DevServer;
let hook: Hook;
let client: Client;
let other: Client;
beforeAll(async () => {
  hook = await openHook();
  server = await startDevServer({ env: "owners", vars: { ALLOW_LOCAL_FETCH: "true" } });
  [client, other] = await Promise.all([connect("owner-a"), connect("owner-b")]);
});
afterAll(async () => {
  await server.stop();
  await hook.stop();
});

function connect(token: string): Promise<Client> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  return new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] }).createFromUrl(server.url);
}

const slow = (ms: number, text = "done") => skill("slow", { ms, text });

function sending(content: string | object, over: Partial<Message> = {}, configuration: MessageSendConfiguration = {}) {
  const part = typeof content === "string" ? { kind: "text", text: content } : { kind: "data", data: content };
  const message = { kind: "message", role: "user", messageId: crypto.randomUUID(), parts: [part], ...over };
  return { message: message as Message, configuration };
}

async function sendFor(by: Client, ...of: Parameters<typeof sending>): Promise<Task> {
  const result = await by.sendMessage(sending(...of));
  if (result.kind !== "task") throw new Error("This should have become a task.");
  return result;
}

async function followed(stream: AsyncIterable<object>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const event of stream) seen.push(newsOf(event));
  return seen;
}

describe("the official client of 0.3", () => {
  it("finds the agent by its card, and is told more when it is known", async () => {
    const card = await client.getAgentCard();
    expect(card).toMatchObject({ url: `${server.url}/a2a`, preferredTransport: "JSONRPC", protocolVersion: "0.3" });
    expect(card.skills.map(({ id }) => id)).toContain("slow");
    expect(card.capabilities.extensions?.some(({ uri }) => uri.includes("skill-schemas"))).toBe(true);
  });

  it("waits for the result of what it sends, or does not", async () => {
    const task = await sendFor(client, slow(300, "at last"));
    expect([stateOf(task), textOf(task)]).toEqual(["completed", "at last"]);
    const begun = await sendFor(client, slow(60_000), {}, { blocking: false });
    expect(["submitted", "working"]).toContain(stateOf(begun));
    await client.cancelTask({ id: begun.id });
  });

  it("gets a message from a skill that makes no tasks", async () => {
    const message = await client.sendMessage(sending(skill("greet", { name: "Bob" })));
    expect(message).toMatchObject({ kind: "message", role: "agent", parts: [{ kind: "text", text: "Hello, Bob!" }] });
  });

  it("is asked, answers in words, and reads the conversation afterwards", async () => {
    const asking = await sendFor(client, skill("ask", { keys: ["k"] }));
    const { id, contextId } = asking;
    expect(asking.status).toMatchObject({ state: "input-required", message: { role: "agent", taskId: id, contextId } });
    expect(saidBy(asking)).toBe("What is k?");
    const answered = await sendFor(client, "blue", { taskId: id, contextId });
    expect(answered).toMatchObject({ id, contextId, status: { state: "completed" } });
    expect(JSON.parse(textOf(answered))).toEqual({ k: { action: "accept", content: { v: "blue" } } });
    const begun = `user: ${JSON.stringify(skill("ask", { keys: ["k"] }))}`;
    expect(heardIn(await client.getTask({ id }))).toEqual([begun, "agent: What is k?", "user: blue"]);
    expect(heardIn(await client.getTask({ id, historyLength: 1 }))).toEqual(["user: blue"]);
    await expect(sendFor(client, "more", { taskId: id })).rejects.toBeInstanceOf(UnsupportedOperationError);
  });

  it("streams a task to its result, and until it is asked, which it is told ends the stream", async () => {
    const events = await followed(client.sendMessageStream(sending(skill("steps", { count: 3, ms: 200 }))));
    expect(events[0]).toMatch(/^task (submitted|working)$/);
    expect(events.slice(-2)).toEqual(["artifact", "completed"]);
    let last: object = {};
    for await (const event of client.sendMessageStream(sending(skill("ask", { keys: ["k"] })))) last = event;
    expect(last).toMatchObject({ kind: "status-update", status: { state: "input-required" }, final: true });
  });

  it("takes up the stream of a task that goes on", async () => {
    const { id } = await sendFor(client, slow(2_500, "again"), {}, { blocking: false });
    const events = await followed(client.resubscribeTask({ id }));
    expect(events[0]).toMatch(/^task (submitted|working)$/);
    expect(events.slice(-2)).toEqual(["artifact", "completed"]);
    await expect(followed(client.resubscribeTask({ id }))).rejects.toThrow(/has ended/);
  });

  it("has news pushed in the shapes of 0.3, with its token and credentials, to the end", async () => {
    const pushNotificationConfig = {
      id: "mine",
      url: hook.at("push"),
      token: "a-token",
      authentication: { schemes: ["Bearer"], credentials: "a-secret" },
    };
    const task = await sendFor(client, skill("ask", { keys: ["k"] }), {}, { pushNotificationConfig });
    await sendFor(client, "blue", { taskId: task.id });
    const posts = await hook.until("push", (all) => newsOf(all.at(-1)?.body ?? {}) === "completed");
    expect(inOrder(posts)).toEqual(["task submitted", "working", "input-required", "working", "artifact", "completed"]);
    for (const { headers, body } of posts) {
      expect(body).toHaveProperty("kind");
      expect(headers).toMatchObject({
        authorization: "Bearer a-secret",
        "x-a2a-notification-token": "a-token",
        "content-type": "application/json",
      });
    }
  });

  it("sets, reads, lists and deletes push configurations, and is told no credentials", async () => {
    const { id: taskId } = await sendFor(client, slow(60_000), {}, { blocking: false });
    const authentication = { schemes: ["Basic"], credentials: "a-secret" };
    const pushNotificationConfig = { id: "c1", url: hook.at("unused"), token: "a-token", authentication };
    const told = {
      taskId,
      pushNotificationConfig: { id: "c1", url: hook.at("unused"), authentication: { schemes: ["Basic"] } },
    };
    expect(await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })).toEqual(told);
    const one = { id: taskId, pushNotificationConfigId: "c1" };
    expect(await client.getTaskPushNotificationConfig(one)).toEqual(told);
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([told]);
    await client.deleteTaskPushNotificationConfig(one);
    expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([]);
    await client.cancelTask({ id: taskId });
  });

  it("cancels as often as it likes, and not what has ended otherwise (G02)", async () => {
    const { id } = await sendFor(client, slow(60_000), {}, { blocking: false });
    for (const _ of [1, 2])
      expect(await client.cancelTask({ id })).toMatchObject({ id, status: { state: "canceled" } });
    const done = await sendFor(client, slow(1));
    await expect(client.cancelTask({ id: done.id })).rejects.toBeInstanceOf(TaskNotCancelableError);
    expect(stateOf(await client.getTask({ id: done.id }))).toBe("completed");
  });

  it("finds nothing of another owner's", async () => {
    const { id } = await sendFor(client, skill("ask", { keys: ["k"] }));
    for (const attempt of [
      () => other.getTask({ id }),
      () => other.cancelTask({ id }),
      () => sendFor(other, "blue", { taskId: id }),
      () => other.listTaskPushNotificationConfig({ id }),
    ])
      await expect(attempt()).rejects.toBeInstanceOf(TaskNotFoundError);
    await expect(followed(other.resubscribeTask({ id }))).rejects.toThrow(/not found|no such task/i);
    expect(stateOf(await client.getTask({ id }))).toBe("input-required");
  });
});
