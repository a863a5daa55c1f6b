// The official SDK of the 2025 revisions, unmodified.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

export type SdkClientOptions = {
  readonly token?: string;
  readonly capabilities?: ClientCapabilities;
  /** Told of each form that the server has the user fill in; they are called Alice, and say yes. */
  readonly onForm?: (message: string) => void;
};

/** A client that looks after tasks by itself, and whose user can be asked. */
export const withTasks: ClientCapabilities = { elicitation: { form: {} }, tasks: {} };
/** One that never heard of tasks. */
export const withoutTasks: ClientCapabilities = { elicitation: { form: {} } };

export async function connectSdkClient(url: string, options: SdkClientOptions = {}): Promise<Client> {
  const headers: Record<string, string> = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
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
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      onForm?.(params.message);
      const properties = "requestedSchema" in params ? params.requestedSchema.properties : {};
      const fields = Object.entries(properties).map(([name, { type }]) => [name, type === "boolean" ? true : "Alice"]);
      return { action: "accept", content: Object.fromEntries(fields) as Record<string, string | boolean> };
    });
  }
  await client.connect(transport);
  return client;
}
