import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import type { Task } from "@a2a-js/sdk";
import { Hono } from "hono/tiny";
import type { A2aDeps, Caller } from "../../src/a2a/deps";
import { cardRoutes } from "../../src/a2a/card-routes";
import { AGENT_CARD_PATH } from "../../src/a2a/door";
import { a2aRoutes } from "../../src/a2a/routes";
import { authenticator } from "../../src/auth";
import { parseEnv, type Config } from "../../src/env";
import type { Principal } from "../../src/service/principal";
import type { AnyTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";

export const ORIGIN = "http://localhost:8787";

// What is parsed from an answer; a test reads it and fails where it is not what it expects.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Wire = any;

/** In a state by the SDK's number, e.g. 2 for working. */
export const taskOf = (id: string, state = 3): Task => ({
  id,
  contextId: "c1",
  status: { state, message: undefined, timestamp: "2026-11-30T00:00:00.000Z" },
  artifacts: [],
  history: [],
  metadata: undefined,
});

export type Handled = { readonly operation: string; readonly request: Wire; readonly caller: Caller };

/** The door over a handler that a test writes: each operation it names; the others fail. `handled` is what was asked. */
export function openDoor(
  operations: Partial<Record<keyof A2ARequestHandler, (request: Wire, caller: Caller) => unknown>> = {},
  over: {
    readonly config?: Partial<Config>;
    readonly tools?: readonly AnyTool[];
    readonly clock?: () => number;
    readonly pushes?: boolean;
    /** Who calls, in place of who the settings know. */
    readonly principal?: Principal;
  } = {},
) {
  const handled: Handled[] = [];
  const log: Wire[] = [];
  const clock = over.clock ?? Date.now;
  const config = { ...parseEnv({}), ...over.config };
  const registry = createRegistry(over.tools ?? []);
  const deps = {
    config,
    tools: { list: async () => registry.list(), find: async (name: string) => registry.get(name) },
    tasks: { pushes: over.pushes ?? true },
    clock,
    log: (line: object) => log.push(line),
  } as unknown as A2aDeps;
  const handlerFor = (_: A2aDeps, caller: Caller): A2ARequestHandler =>
    new Proxy({} as A2ARequestHandler, {
      get: (_target, operation: keyof A2ARequestHandler) => (request: Wire) => {
        handled.push({ operation, request, caller });
        const act = operations[operation] ?? (() => Promise.reject(new Error(`nobody wrote ${operation}`)));
        return act(request, caller);
      },
    });
  const { principal } = over;
  const authenticate = principal
    ? async () => ({ kind: "principal", principal }) as const
    : authenticator(config, { clock });
  const endpoint = a2aRoutes(deps, authenticate, handlerFor);
  const app = new Hono().all("/a2a/*", (c) => endpoint(c)).route(AGENT_CARD_PATH, cardRoutes(deps));

  const request = async (path: string, init: RequestInit = {}): Promise<Response> =>
    app.request(`${ORIGIN}${path}`, init);
  /** A JSON-RPC request in 1.0, unless a header says otherwise; null takes a header away. */
  const rpc = (body: unknown, headers: Readonly<Record<string, string | null>> = {}, init: RequestInit = {}) => {
    const all = { "Content-Type": "application/json", "A2A-Version": "1.0", ...headers };
    const kept = Object.entries(all).filter((header): header is [string, string] => header[1] !== null);
    const text = typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body);
    return request("/a2a", { method: "POST", headers: kept, body: text, ...init });
  };
  const call = async (method: string, params?: unknown, headers?: Readonly<Record<string, string | null>>) =>
    (await (await rpc({ jsonrpc: "2.0", id: 7, method, params }, headers)).json()) as Wire;
  return { deps, handled, log, request, rpc, call };
}

export const message = (over: object = {}) => ({
  messageId: "m1",
  role: "ROLE_USER",
  parts: [{ text: "hi" }],
  ...over,
});

export const oldMessage = (over: object = {}) => ({
  kind: "message",
  messageId: "m1",
  role: "user",
  parts: [{ kind: "text", text: "hi" }],
  ...over,
});

/** The blocks of an event stream that are events, as `[type, data]`. */
export async function eventsIn(response: Response): Promise<readonly (readonly [string, Wire])[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => /^data:/m.test(block));
  return blocks.map((block) => [
    /^event: (.*)$/m.exec(block)?.[1] ?? "message",
    JSON.parse(/^data: ?(.*)$/m.exec(block)?.[1] ?? ""),
  ]);
}
