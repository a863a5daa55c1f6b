// The official SDK of the 2025 revisions, unmodified.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  type CallToolResult,
  type ClientCapabilities,
} from "@modelcontextprotocol/sdk/types.js";

export type SdkClientOptions = {
  readonly token?: string;
  readonly capabilities?: ClientCapabilities;
  /** Told of each form that the server has the user fill in, who is called Alice, says yes, and may take their time. */
  readonly onForm?: (message: string) => unknown;
};

/** A client that looks after tasks by itself, and whose user can be asked. */
export const withTasks: ClientCapabilities = { elicitation: { form: {} }, tasks: {} };
/** One that never heard of tasks. */
export const withoutTasks: ClientCapabilities = { elicitation: { form: {} } };

export async function connectSdkClient(url: string, options: SdkClientOptions = {}): Promise<Client> {
  const headers: Record<string, string> =
    options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  // Its own types disagree where optional properties are exact.
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport;
  return connectSdkClientOver(transport, options);
}

export async function connectSdkClientOver(
  transport: Transport,
  { capabilities = withTasks, onForm }: SdkClientOptions,
): Promise<Client> {
  const client = new Client({ name: "holdfast-tests", version: "1.0.0" }, { capabilities });
  if (capabilities.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      await onForm?.(params.message);
      const properties = "requestedSchema" in params ? params.requestedSchema.properties : {};
      const fields = Object.entries(properties).map(([name, { type }]) => [name, type === "boolean" ? true : "Alice"]);
      return { action: "accept", content: Object.fromEntries(fields) as Record<string, string | boolean> };
    });
  }
  await client.connect(transport);
  return client;
}

export type StreamedCall = {
  readonly taskId: string;
  /** As the stream told them, the one at creation first. */
  readonly states: readonly string[];
  readonly result: CallToolResult | undefined;
  readonly error: string | undefined;
};

/** Calls a tool as a task, and says all that the SDK told of it. */
export async function streamCall(
  client: Client,
  name: string,
  args: object,
  options: RequestOptions = {},
): Promise<StreamedCall> {
  let taskId = "";
  let result: CallToolResult | undefined;
  let error: string | undefined;
  const states: string[] = [];
  const messages = client.experimental.tasks.callToolStream({ name, arguments: { ...args } }, CallToolResultSchema, {
    task: {},
    ...options,
  });
  for await (const message of messages) {
    switch (message.type) {
      case "taskCreated":
      case "taskStatus":
        ({ taskId } = message.task);
        states.push(message.task.status);
        break;
      case "result":
        ({ result } = message);
        break;
      case "error":
        error = message.error.message;
    }
  }
  return { taskId, states, result, error };
}

/** Begins a task and stops looking: leaving the stream cancels nothing. */
export async function beginTask(
  client: Client,
  name: string,
  args: object,
  options: RequestOptions = {},
): Promise<string> {
  const params = { name, arguments: { ...args } };
  const messages = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {}, ...options });
  for await (const message of messages) if (message.type === "taskCreated") return message.task.taskId;
  throw new Error(`${name} should have become a task.`);
}

/** The first block of a result, which is all that the fixture tools return. */
export function textOf(result: object | undefined): string {
  const [first] = (result as CallToolResult | undefined)?.content ?? [];
  return first?.type === "text" ? first.text : "";
}
