import type { Hono } from "hono";
import { createApp, type AppDeps } from "../../src/app";
import type { Config } from "../../src/env";
import { createSealer } from "../../src/seal";
import { MemorySessions } from "../../src/service/memory-sessions";
import { MemoryTaskStore, type MemoryParts } from "../../src/service/memory-task-store";
import { createCatalog } from "../../src/service/catalog";
import { MemoryRecordStore } from "../../src/service/memory-record-store";
import { MemoryRemoteTools } from "../../src/service/memory-remote-tools";
import { TaskService } from "../../src/service/task-service";
import type { TaskStore } from "../../src/service/task-store";
import type { ToolListNews } from "../../src/service/tool-catalog";
import type { WorkQueues } from "../../src/service/work-queue";
import { WorkService } from "../../src/service/work-service";
import { storeService } from "../../src/store-api/store-service";
import type { AnyTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { queueWorker, type Job } from "./queue-worker";

export const REVISION = "2026-07-28";
export const TASKS = "io.modelcontextprotocol/tasks";
export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
export const withTasks = { extensions: { [TASKS]: {} } };
export const withEverything = { elicitation: {}, sampling: {}, roots: {}, ...withTasks };

// What is parsed from an answer; a test reads it and fails where it is not what it expects.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Wire = any;

const baseConfig: Config = {
  limits: {
    ttlMs: 86_400_000,
    minTtlMs: 60_000,
    maxTtlMs: 2_592_000_000,
    retentionMs: 604_800_000,
    pollIntervalMs: 1_000,
    timeoutMs: 600_000,
    maxAttempts: 1,
    maxRestarts: 20,
    questionTtlMs: 604_800_000,
    reservationMs: 30_000,
    maxTasksPerOwner: 10_000,
    maxLiveTasksPerOwner: 1_000,
    createsPerMinute: 600,
    pollBurst: 100_000,
    maxStreamsPerOwner: 50,
    scoping: "strict",
    resultLimitBytes: 10_485_760,
  },
  store: "memory",
  maxBodyBytes: 4_194_304,
  maxJsonDepth: 64,
  sweepBudget: 1_000,
  inlineWaitMs: 45_000,
  a2a: { blockMs: 300_000, legacy: true },
  allowedOrigins: [],
  allowAnonymous: false,
  allowLocalFetch: false,
  tokens: null,
  oauth: null,
  sealingKey: null,
  namespaces: [],
  remoteTools: [],
};

export type Served = {
  readonly app: Hono;
  readonly tasks: TaskService;
  readonly log: object[];
  /** What is declared over the API. */
  readonly remoteTools: MemoryRemoteTools;
  readonly store: TaskStore;
  readonly queues: WorkQueues;
  /** A worker has the task of the queue whose turn it is, now or later. */
  take(queue: string): Promise<Job>;
  /** Moves the clock of the server. */
  advance(ms: number): void;
  /** What the cron does: collects what has expired. */
  sweep(): Promise<unknown>;
  /** A request as a well-behaved client of the revision sends it. */
  send(method: string, params?: Wire, options?: SendOptions): Promise<Response>;
  /** The same, when the answer is to be a single message. */
  call(method: string, params?: Wire, options?: SendOptions): Promise<Wire>;
  /** `tools/call` of a tool. */
  tool(name: string, args?: Wire, options?: SendOptions): Promise<Wire>;
};

export type SendOptions = {
  readonly id?: string | number;
  readonly capabilities?: object;
  readonly meta?: object;
  /** null takes a header away. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly token?: string;
  readonly signal?: AbortSignal;
};

/** The whole app over the memory store. */
export async function serve(
  tools: readonly AnyTool[],
  over: {
    config?: Partial<Omit<Config, "limits">>;
    limits?: Partial<Config["limits"]>;
    owners?: readonly string[];
    deps?: Partial<AppDeps>;
    /** In place of the changes of what is declared. */
    toolListChanges?: (signal: AbortSignal) => AsyncIterable<unknown>;
    /** What the service is given for its store. */
    storeFor?: (store: TaskStore) => TaskStore;
  } = {},
): Promise<Served> {
  let shift = 0;
  const clock = (): number => Date.now() + shift;
  const log: object[] = [];
  const limits = { ...baseConfig.limits, ...over.limits };
  const entries = over.owners && (await Promise.all(over.owners.map(tokenEntry)));
  const config: Config = { ...baseConfig, ...over.config, limits, tokens: entries ?? null };
  const registry = createRegistry(tools);
  const sessions = new MemorySessions(clock);
  const asking: MemoryParts["asking"] = (session, id) => sessions.asking(session, id);
  const { store, ...worker } = queueWorker(
    (queues) => new MemoryTaskStore({ queues, registry, limits, clock, fetch, log: () => {}, asking }),
    clock,
  );
  const tasks = new TaskService({ store: over.storeFor?.(store) ?? store, sessions, limits, clock });
  const remoteTools = new MemoryRemoteTools();
  const catalog = createCatalog({ registry, configured: config.remoteTools, declared: remoteTools });
  const { toolListChanges } = over;
  const sealer = createSealer(async () => "a secret for tests, thirty-two bytes", clock);
  const app = createApp({
    config,
    tools: toolListChanges ? { ...catalog, changes: (signal) => asNews(toolListChanges(signal)) } : catalog,
    tasks,
    records: storeService({ records: new MemoryRecordStore({ limits, clock }), namespaces: config.namespaces, limits }),
    work: new WorkService({ store, queues: worker.queues, limits, clock }),
    remoteTools,
    sessions,
    sealer,
    clock,
    fetch,
    log: (line) => log.push(line),
    ...over.deps,
  });

  const send: Served["send"] = async (method, params = {}, options = {}) => {
    const { id = 1, capabilities = {}, meta = {}, token, signal } = options;
    const body = { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...envelope(capabilities), ...meta } } };
    return app.request("http://localhost/mcp", {
      method: "POST",
      headers: headersFor(method, params, token, options.headers),
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  };
  const call: Served["call"] = async (method, params, options) => only(await send(method, params, options));
  return {
    app,
    tasks,
    log,
    remoteTools,
    store,
    ...worker,
    advance: (ms) => void (shift += ms),
    sweep: () => store.sweep(1_000),
    send,
    call,
    tool: (name, args = {}, options) => call("tools/call", { name, arguments: args }, options),
  };
}

async function* asNews(changes: AsyncIterable<unknown>): AsyncGenerator<ToolListNews> {
  yield "ready";
  for await (const _ of changes) yield "changed";
}

export const envelope = (capabilities: object) => ({
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

export function headersFor(method: string, params: Wire, token?: string, over: SendOptions["headers"] = {}): Headers {
  const headers = new Headers({
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Mcp-Method": method,
  });
  const name = method === "tools/call" ? params.name : method.startsWith("tasks/") ? params.taskId : undefined;
  if (typeof name === "string") headers.set("Mcp-Name", name);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  for (const [key, value] of Object.entries(over)) {
    if (value === null) headers.delete(key);
    else headers.set(key, value);
  }
  return headers;
}

/** The one message of an answer, whichever type it came in. */
export async function only(response: Response): Promise<Wire> {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const messages: Wire[] = [];
    for await (const message of events(response)) messages.push(message);
    return messages.at(-1);
  }
  return response.json();
}

/** The messages of an event stream as they come. */
export async function* events(response: Response): AsyncGenerator<Wire> {
  let buffered = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    buffered += decoder.decode(chunk, { stream: true });
    for (let end = buffered.indexOf("\n\n"); end >= 0; end = buffered.indexOf("\n\n")) {
      const block = buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
      const data = block
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart());
      if (data.length > 0) yield JSON.parse(data.join("\n"));
    }
  }
}

/** Asks until the answer is as wanted; the test's own timeout is the limit. */
export async function until<T>(ask: () => Promise<T> | T, wanted: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function tokenEntry(token: string): Promise<NonNullable<Config["tokens"]>[number]> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return { sha256: Buffer.from(digest).toString("hex"), subject: token, scopes: ["client"] };
}
