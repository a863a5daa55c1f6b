import { Hono } from "hono/tiny";
import { authenticator } from "../../src/auth";
import { cors } from "../../src/cors";
import type { Config } from "../../src/env";
import { parseEnv } from "../../src/env";
import { createCatalog } from "../../src/service/catalog";
import type { Limits } from "../../src/service/limits";
import { MemoryRecordStore } from "../../src/service/memory-record-store";
import { MemoryRemoteTools } from "../../src/service/memory-remote-tools";
import { MemoryTaskStore } from "../../src/service/memory-task-store";
import { memoryQueues } from "../../src/service/memory-queue";
import type { Scope } from "../../src/service/principal";
import { queueCalls } from "../../src/service/queue-offer";
import { TaskService } from "../../src/service/task-service";
import { WorkService } from "../../src/service/work-service";
import type { StoreDeps } from "../../src/store-api/deps";
import { storeRoutes } from "../../src/store-api/routes";
import { storeService } from "../../src/store-api/store-service";
import { createRegistry, type RegisteredTool } from "../../src/tool/registry";
import { remoteTool } from "../../src/tool/remote-tool";
import { NAMESPACES } from "../kit/memory-subject";
import { everything, limits as defaults, movableClock, someone } from "./memory";
import type { Wire } from "./mcp";

/** The callers of these tests: a bearer string is its subject's name. */
export const CALLERS: Readonly<Record<string, readonly Scope[]>> = {
  ann: ["client"],
  bob: ["client"],
  wendy: ["worker"],
  root: ["admin"],
};

export type StoreServed = {
  readonly app: Hono;
  readonly deps: StoreDeps;
  readonly tasks: TaskService;
  readonly log: object[];
  readonly clock: ReturnType<typeof movableClock>;
  /** The remote tool `render`. */
  tool(): RegisteredTool;
  /** Makes a task of the remote tool `render`, whose queue is `gpu`. */
  start(args?: Wire): Promise<string>;
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
  /** The same with the answer's body: its status, value, text and headers. */
  call(method: string, path: string, options?: SendOptions): Promise<Called>;
};

export type SendOptions = {
  readonly as?: string | null;
  /** A value, or the very text. */
  readonly body?: unknown;
  readonly text?: string;
  /** null takes a header away. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly signal?: AbortSignal;
  readonly origin?: string;
};

export type Called = {
  readonly status: number;
  readonly body: Wire;
  readonly text: string;
  readonly headers: Headers;
};

export const render = remoteTool({
  name: "render",
  description: "Renders a scene.",
  inputSchema: { type: "object" },
  queue: "gpu",
  asks: ["form"],
});

/** The store API over the memory stores. `tokens: false`: no auth settings. */
export async function serveStore(
  over: { readonly config?: Partial<Config>; readonly limits?: Partial<Limits>; readonly tokens?: false } = {},
): Promise<StoreServed> {
  const clock = movableClock();
  const log: object[] = [];
  const limits = { ...defaults, ...over.limits };
  const tokens = over.tokens === false ? null : await Promise.all(Object.entries(CALLERS).map(tokenEntry));
  const config: Config = { ...parseEnv({}), limits, namespaces: NAMESPACES, tokens, ...over.config };
  const registry = createRegistry([render]);
  const queues = memoryQueues();
  const store = new MemoryTaskStore({
    queues: queueCalls(queues, clock.now),
    registry,
    limits,
    clock: clock.now,
    fetch,
    log: () => {},
  });
  const remoteTools = new MemoryRemoteTools();
  const deps: StoreDeps = {
    config,
    store: storeService({
      records: new MemoryRecordStore({ limits, clock: clock.now }),
      namespaces: config.namespaces,
      limits,
    }),
    work: new WorkService({ store, queues, limits, clock: clock.now }),
    remoteTools,
    catalog: createCatalog({ registry, configured: [], declared: remoteTools }),
    clock: clock.now,
    log: (line) => void log.push(line),
  };
  const app = new Hono();
  app.use(cors(config));
  app.route("/store/v1", storeRoutes(deps, authenticator(config, { clock: clock.now })));
  const tasks = new TaskService({ store, limits, clock: clock.now });

  const send: StoreServed["send"] = async (method, path, options = {}) => {
    const { as = "ann", body, text, headers = {}, signal, origin = "http://localhost" } = options;
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const all = new Headers();
    if (as !== null && tokens) all.set("Authorization", `Bearer ${as}`);
    if (payload !== undefined) all.set("Content-Type", "application/json");
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) all.delete(name);
      else all.set(name, value);
    }
    return app.request(`${origin}/store/v1${path}`, {
      method,
      headers: all,
      ...(payload === undefined ? {} : { body: payload }),
      ...(signal ? { signal } : {}),
    });
  };

  const tool = (): RegisteredTool => {
    const found = registry.get(render.name);
    if (!found) throw new Error("There is no such tool.");
    return found;
  };

  return {
    app,
    deps,
    tasks,
    log,
    clock,
    tool,
    start: async (args = {}) => {
      const started = await tasks.start({
        principal: someone("a"),
        tool: tool(),
        arguments: args,
        client: everything,
        origin: "test",
      });
      return started.task.id;
    },
    send,
    call: async (method, path, options) => {
      const response = await send(method, path, options);
      const text = await response.text();
      return { status: response.status, text, body: parsed(text), headers: response.headers };
    },
  };
}

function parsed(text: string): Wire {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function tokenEntry([token, scopes]: [string, readonly Scope[]]): Promise<NonNullable<Config["tokens"]>[number]> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return { sha256: Buffer.from(digest).toString("hex"), subject: token, scopes };
}
