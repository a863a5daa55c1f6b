// The official MCP client with the official Tasks package on top: what a real host would use.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  toolDeclarationFromMcpTool,
  type ApplicationElicitResult,
  type TaskEnabledSession,
  type WithTasksOptions,
} from "@modelcontextprotocol/ext-tasks/client";

const PROTOCOL_VERSION = "2026-07-28";
const CLIENT_INFO = { name: "holdfast-scripts", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
/** Of 2025-11-25, which has tasks in its core. */
const LEGACY_CAPABILITIES = { elicitation: { form: {} }, tasks: {} };

export type TasksClientOptions = {
  readonly token?: string | undefined;
  /** Answers the server's forms; without it they are dismissed. */
  readonly elicit?: (params: { readonly [name: string]: unknown }) => ApplicationElicitResult;
  /** `modern` is 2026-07-28 with the Tasks extension, and the default; `legacy` 2025-11-25. */
  readonly era?: "modern" | "legacy";
};

export type TasksClient = {
  readonly client: Client;
  /** Note that `session.close()` cancels what is unfinished and was not handed off. */
  readonly session: TaskEnabledSession;
};

export async function connectTasksClient(
  url: string,
  { token, elicit, era = "modern" }: TasksClientOptions = {},
): Promise<TasksClient> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const client = new Client(CLIENT_INFO, {
    capabilities: era === "modern" ? CAPABILITIES : LEGACY_CAPABILITIES,
    versionNegotiation: { mode: era === "modern" ? { pin: PROTOCOL_VERSION } : "legacy" },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const options = {
    // One deployment, one identity: a reference that another process made can be resumed.
    endpointId: url,
    onInputRequest: (async (request) => {
      // The only kind this client declared.
      if (request.kind !== "elicitation") throw new Error(`Unexpected ${request.kind} request.`);
      return (elicit?.(request.params) ?? { action: "cancel" }) as never;
    }) satisfies NonNullable<WithTasksOptions["onInputRequest"]>,
  };
  if (era === "legacy") {
    // There the client asks for a task, so it must know which tools have them.
    const { tools } = await client.listTools();
    const declared = new Map(tools.map((tool) => [tool.name, toolDeclarationFromMcpTool(tool)]));
    const currentTool = (name: string) => declared.get(name);
    return { client, session: createTaskSessionFromClient(client, { ...options, tools: { currentTool } }) };
  }
  const session = createTaskSessionFromClient(client, {
    ...options,
    // The client's own codec refuses task handles, so the package has them sent beside it.
    rawDispatch: (request, { context, signal } = {}) =>
      dispatch(url, { ...headers, ...context?.headers }, request as WireRequest, signal),
    v2RequestFraming: { protocolVersion: PROTOCOL_VERSION, clientInfo: CLIENT_INFO, clientCapabilities: CAPABILITIES },
  });
  return { client, session };
}

type WireRequest = { readonly method: string; readonly params: { readonly name?: string; readonly taskId?: string } };

let lastId = 0;

async function dispatch(
  url: string,
  headers: Record<string, string>,
  request: WireRequest,
  signal: AbortSignal | undefined,
) {
  lastId += 1;
  const body = { jsonrpc: "2.0", id: `raw-${lastId}`, ...request };
  const name = request.method.startsWith("tasks/") ? request.params.taskId : request.params.name;
  // `Headers` and not an object: the package spells some of the same names in capitals.
  const sent = new Headers(headers);
  sent.set("content-type", "application/json");
  sent.set("accept", "application/json, text/event-stream");
  sent.set("mcp-protocol-version", PROTOCOL_VERSION);
  sent.set("mcp-method", request.method);
  if (name !== undefined) sent.set("mcp-name", name);
  const response = await fetch(url, {
    method: "POST",
    headers: sent,
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  const answer = answerIn(await response.text(), body.id);
  return answer.error
    ? { kind: "error" as const, error: answer.error }
    : { kind: "result" as const, result: answer.result as never };
}

type Answer = {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
};

/** The answer in a body of one JSON message, or of events that end with it. */
function answerIn(text: string, id: string): Answer {
  const messages = text.trimStart().startsWith("{")
    ? [text]
    : [...text.matchAll(/^data: ?(\{.*)$/gm)].map((line) => line[1] ?? "");
  const answer = messages.map((message) => JSON.parse(message) as Answer).find((message) => message.id === id);
  if (!answer) throw new Error(`The server did not answer: ${text.slice(0, 200)}`);
  return answer;
}
