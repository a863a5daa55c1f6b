// The official SDK of A2A 1.0, unmodified.
import type { Message, SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import {
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";

export type Binding = "JSONRPC" | "HTTP+JSON";

/** Finds the agent by its card, and speaks the binding with it. */
export function connectA2a(url: string, binding: Binding, token = "owner-a"): Promise<Client> {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
  return new ClientFactory({ transports, preferredTransports: [binding] }).createFromUrl(url);
}

/** As the SDK numbers the states of a task. */
export const STATE = {
  submitted: 1,
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  inputRequired: 6,
} as const;

export function request(
  content: string | object,
  over: Partial<Message> = {},
  configuration: Partial<NonNullable<SendMessageRequest["configuration"]>> = {},
): SendMessageRequest {
  const kind = typeof content === "string" ? "text" : "data";
  return {
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      contextId: "",
      taskId: "",
      role: 1,
      parts: [{ content: { $case: kind, value: content as string }, metadata: undefined, filename: "", mediaType: "" }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...over,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

/** Sends, and wants a task for an answer. */
export async function sendFor(client: Client, ...of: Parameters<typeof request>): Promise<Task> {
  const result = await client.sendMessage(request(...of));
  if ("messageId" in result) throw new Error("This should have become a task.");
  return result;
}

export const textOf = ({ artifacts }: Pick<Task, "artifacts">): string =>
  artifacts.map(({ parts }) => parts.map(({ content }) => String(content?.value)).join("")).join("\n");

/** Who said what, oldest first. */
export const heardIn = ({ history }: Task): readonly string[] =>
  history.map(({ role, parts: [first] }) => {
    const value: unknown = first?.content?.value;
    return `${role === 1 ? "user" : "agent"}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });

/** Each event in few words: a status by its number. */
export async function followed(stream: AsyncIterable<StreamResponse>): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const { payload } of stream) {
    switch (payload?.$case) {
      case "task":
        seen.push(`task ${payload.value.status?.state}`);
        break;
      case "statusUpdate":
        seen.push(`status ${payload.value.status?.state}`);
        break;
      case "artifactUpdate":
        seen.push(`artifact ${String(payload.value.artifact?.parts[0]?.content?.value)}`);
        break;
      default:
        seen.push(String(payload?.$case));
    }
  }
  return seen;
}
