// The agent as one binding shows it. Whatever comes back is read as strictly as the strictest client would, so that no test
// need say so.
import { expect } from "vitest";
import { faultsOf } from "../../a2a/shapes";
import type { Wire } from "../../support/mcp";
import { eventsOf } from "./event-stream";
import { ERRORS, OPERATIONS, type Operation } from "./operations";

/** `fetch` of one deployment, by path. */
export type Send = (path: string, init?: RequestInit) => Promise<Response>;

export type Options = {
  /** null: none is sent. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Refusal = {
  readonly reason: string;
  readonly code: number;
  readonly message: string;
  readonly details: Wire;
};

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when it was refused. */
  readonly result?: Wire;
  readonly refusal?: Refusal;
};

export type EventStream = {
  readonly headers: Headers;
  /** Undefined when the agent has closed the stream. */
  next(): Promise<Wire>;
  /** All until the agent closes it. */
  rest(): Promise<Wire[]>;
  /** The client leaves. */
  close(): void;
};

export type Agent = {
  readonly binding: "JSON-RPC" | "REST";
  ask(operation: Operation, params?: Wire, options?: Options): Promise<Answer>;
  /** The result of what must not be refused. */
  call(operation: Operation, params?: Wire, options?: Options): Promise<Wire>;
  stream(operation: Operation, params?: Wire, options?: Options): Promise<EventStream>;
  /** What a refusal for this reason matches. */
  refused(reason: keyof typeof ERRORS): object;
};

export const jsonRpcAgent = (send: Send): Agent =>
  agentOf(send, {
    binding: "JSON-RPC",
    contentType: "application/json",
    request: (operation, params) => ["/a2a", "POST", { jsonrpc: "2.0", id: operation, method: operation, params }],
    read({ jsonrpc, id, ...outcome }, operation) {
      expect(jsonrpc).toBe("2.0");
      // Of what was refused before it was read the id is not known.
      expect([operation, null]).toContain(id);
      return outcome;
    },
    details: "data",
  });

export const restAgent = (send: Send): Agent =>
  agentOf(send, {
    binding: "REST",
    contentType: "application/a2a+json",
    request(operation, params) {
      const [method, address] = OPERATIONS[operation];
      const others = { ...params };
      const path = address.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
        const value = encodeURIComponent(others[name]);
        delete others[name];
        return value;
      });
      const isEmpty = Object.keys(others).length === 0;
      if (method === "POST") return [`/a2a${path}`, method, isEmpty ? undefined : others];
      return [`/a2a${path}${isEmpty ? "" : `?${new URLSearchParams(others)}`}`, method, undefined];
    },
    read: (body) => (Object.hasOwn(body, "error") ? body : { result: body }),
    details: "details",
  });

type Frame = {
  readonly binding: Agent["binding"];
  readonly contentType: string;
  readonly request: (operation: Operation, params: Wire) => readonly [path: string, method: string, body: Wire];
  /** `{ result }` or `{ error }`, of one answer or one event. */
  readonly read: (body: Wire, operation: Operation) => Wire;
  /** The member of an error with its details. */
  readonly details: "data" | "details";
};

function agentOf(send: Send, { binding, contentType, request, read, details }: Frame): Agent {
  const requested = async (operation: Operation, params: Wire, options: Options, signal?: AbortSignal) => {
    const { token = "owner-a", headers = {} } = options;
    const [path, method, body] = request(operation, params);
    return send(path, {
      method,
      headers: {
        "A2A-Version": "1.0",
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": contentType }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  };

  const resultOf = (body: Wire, operation: Operation): Wire => {
    const outcome = read(body, operation);
    expect(Object.keys(outcome)).toEqual(["result"]);
    // What has no result is null over JSON-RPC, and an empty message over HTTP.
    expect(faultsOf(outcome.result ?? {}, OPERATIONS[operation][2])).toEqual([]);
    return outcome.result;
  };

  const refusalOf = (error: Wire): Refusal => {
    const members = ["code", "message", details, ...(details === "details" ? ["status"] : [])];
    expect(Object.keys(error).toSorted()).toEqual(members.toSorted());
    const [info] = error[details];
    expect(info).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      domain: "a2a-protocol.org",
      reason: expect.stringMatching(/^[A-Z_]+$/),
    });
    expect(error.message).toMatch(/^.+$/);
    return { reason: info.reason, code: error.code, message: error.message, details: error[details] };
  };

  const ask: Agent["ask"] = async (operation, params = {}, options = {}) => {
    const response = await requested(operation, params, options);
    const { status, headers } = response;
    expect(headers.get("content-type")).toBe(options.headers?.["Accept"] ?? contentType);
    const body: Wire = await response.json();
    const { error } = read(body, operation);
    if (error) return { status, headers, refusal: refusalOf(error) };
    expect(status).toBe(200);
    return { status, headers, result: resultOf(body, operation) };
  };

  return {
    binding,
    ask,
    async call(operation, params, options) {
      const { result, refusal } = await ask(operation, params, options);
      expect(refusal).toBeUndefined();
      return result;
    },
    async stream(operation, params = {}, options = {}) {
      const gone = new AbortController();
      const { headers, body } = await requested(operation, params, options, gone.signal);
      expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
      const events = eventsOf(body as unknown as AsyncIterable<Uint8Array>);
      const next = async (): Promise<Wire> => {
        const { value } = await events.next();
        if (!value) return undefined;
        expect(value.type).toBe("message");
        return resultOf(value.data, operation);
      };
      return {
        headers,
        next,
        async rest() {
          const all: Wire[] = [];
          for (let event = await next(); event; event = await next()) all.push(event);
          return all;
        },
        close: () => gone.abort(),
      };
    },
    refused(reason) {
      const [code, status] = ERRORS[reason];
      return binding === "REST"
        ? { status, refusal: { reason, code: status } }
        : { status: 200, refusal: { reason, code } };
    },
  };
}
