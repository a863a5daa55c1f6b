// In workerd: the fixture Worker as four callers see it, those of the environment `owners`.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fixtureWorker from "../fixtures/worker";
import { envelope, headersFor, only, withEverything, type Wire } from "./mcp";

/** A bearer string is its subject's name. */
const CALLERS = { "owner-a": "client", "owner-b": "client", worker: "worker", admin: "admin" } as const;
export type Caller = keyof typeof CALLERS;

type StoreOptions = {
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};
export type StoreAnswer = { readonly status: number; readonly text: string; readonly body: Wire };

/** `over` stands in place of settings and bindings. */
export async function fixtureCallers(over: object = {}) {
  const bindings = {
    ...env,
    AUTH_TOKENS: JSON.stringify(await Promise.all(Object.entries(CALLERS).map(entry))),
    ...over,
  };
  const fetch = (path: string, init: RequestInit): Promise<Response> => {
    const request = new Request(`http://localhost${path}`, init);
    return fixtureWorker.fetch(request as never, bindings as never, createExecutionContext());
  };
  const send = (as: Caller, method: string, path: string, { body, headers = {} }: StoreOptions = {}) =>
    fetch(`/store/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${as}`, ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const store = async (as: Caller, method: string, path: string, options?: StoreOptions): Promise<StoreAnswer> => {
    const response = await send(as, method, path, options);
    const text = await response.text();
    return { status: response.status, text, body: text === "" ? null : JSON.parse(text) };
  };
  /** A request of MCP 2026-07-28; its message. */
  const mcp = async (method: string, params: Wire, as: Caller = "owner-a"): Promise<Wire> => {
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(withEverything) } };
    const headers = headersFor(method, params, as);
    return only(await fetch("/mcp", { method: "POST", headers, body: JSON.stringify(message) }));
  };
  /** The id of a new task of owner-a. */
  const start = async (name: string, args: object = {}): Promise<string> =>
    (await mcp("tools/call", { name, arguments: args })).result.taskId;
  /** What the worker claims of the queue `remote` next. */
  const claim = async (wish: object = {}): Promise<Wire> => {
    const body = { claimId: crypto.randomUUID(), waitMs: 20_000, leaseMs: 600_000, ...wish };
    return (await store("worker", "POST", "/queues/remote/claims", { body })).body.claims[0];
  };
  return { fetch, send, store, mcp, start, claim };
}

async function entry([subject, scope]: [string, string]) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subject)));
  return { sha256: digest.toHex(), subject, scopes: [scope] };
}
