import { expect, vi } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";

/** The params of a message that means this behaviour (`test/fixtures/tck/tools.ts`). */
export const said = (behaviour: string, message: object = {}, configuration?: object): Wire => ({
  message: {
    messageId: `${behaviour}-${crypto.randomUUID()}`,
    role: "ROLE_USER",
    parts: [{ text: "Hello." }],
    ...message,
  },
  ...(configuration ? { configuration } : {}),
});

/** The task that such a message comes to, once it rests. */
export async function begun(agent: Agent, behaviour: string, message?: object, configuration?: object): Promise<Wire> {
  const result = await agent.call("SendMessage", said(behaviour, message, configuration));
  expect(Object.keys(result)).toEqual(["task"]);
  return result.task;
}

/** The task after one more message, which it waited for. */
export const answered = (agent: Agent, { id }: Wire, message: object = {}): Promise<Wire> =>
  begun(agent, "tck-complete-task", { taskId: id, ...message });

/** The task asks again after this one. */
export const answeredOnce = (agent: Agent, { id }: Wire, text: string): Promise<Wire> =>
  begun(agent, "tck-input-required", { taskId: id, parts: [{ text }] });

/** Three tasks, one after the other, with each message its context. */
export async function three(agent: Agent, behaviour = "tck-complete-task", contextId: string = crypto.randomUUID()) {
  const tasks = [];
  for (let count = 0; count < 3; count += 1) tasks.push(await begun(agent, behaviour, { contextId }));
  return { contextId, tasks };
}

export const textsOf = (messages: Wire): readonly string[] =>
  messages.flatMap(({ parts }: Wire) => parts.map(({ text }: Wire) => text)).filter(Boolean);

export const reaches = (agent: Agent, { id }: Wire, state: string): Promise<Wire> =>
  vi.waitUntil(
    async () => {
      const task = await agent.call("GetTask", { id });
      return task.status.state === state && task;
    },
    { timeout: 30_000, interval: 100 },
  );

export const ENDED = /^TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

/** The params that name this task, by every operation that takes one. */
export const upon = (id: string) =>
  [
    ["SendMessage", said("tck-complete-task", { taskId: id })],
    ["SendStreamingMessage", said("tck-complete-task", { taskId: id })],
    ["GetTask", { id }],
    ["CancelTask", { id }],
    ["SubscribeToTask", { id }],
    ["CreateTaskPushNotificationConfig", { taskId: id, id: "c", url: "https://hooks.example/x" }],
    ["GetTaskPushNotificationConfig", { taskId: id, id: "c" }],
    ["ListTaskPushNotificationConfigs", { taskId: id }],
    ["DeleteTaskPushNotificationConfig", { taskId: id, id: "c" }],
  ] as const;
