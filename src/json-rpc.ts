import type { Context } from "hono";
import { eventStream, SendQueue } from "./event-stream";
import { isObject, type JsonObject, type JsonText } from "./task/json";

export type RequestId = string | number;

export type JsonRpcRequest = { readonly id: RequestId; readonly method: string; readonly params: JsonObject };

export type Message =
  | { readonly kind: "request"; readonly request: JsonRpcRequest }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "response" }
  /** `id` is there when it could be read, so that the error can name it. */
  | { readonly kind: "invalid"; readonly id?: RequestId; readonly problem: string };

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

export type ErrorExtras = { readonly data?: unknown; readonly headers?: Readonly<Record<string, string>> };

/** An error as it goes out: the JSON-RPC object, and the HTTP status for when nothing was streamed yet. */
export class JsonRpcError extends Error {
  override readonly name = "JsonRpcError";
  readonly status: number;
  readonly code: number;
  readonly extras: ErrorExtras;

  constructor(status: number, code: number, message: string, extras: ErrorExtras = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.extras = extras;
  }
}

/** What a running method may do with its request: speak before the answer, and notice that nobody listens any more. */
export type Exchange = {
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Resolves once it is on its way, or was dropped because the answer cannot be a stream. */
  notify(method: string, params: JsonText): Promise<void>;
};

/** A method that may take long or speak on the way. It ends in a result, as JSON text. */
export type Conversation = {
  /** `when_slow`: one JSON answer if it ends soon and says nothing before. `never`: one JSON answer, however long it takes. */
  readonly stream: "at_once" | "when_slow" | "never";
  readonly run: (exchange: Exchange) => Promise<JsonText>;
};

export type Answer = JsonText | Conversation;

export type Method<Call> = (call: Call) => Answer | Promise<Answer>;

/** The types of answer the client's Accept header allows. */
export type Accepts = { readonly json: boolean; readonly eventStream: boolean };

/** How long an answer may take before the stream is opened so that the client sees that something happens. */
const GRACE_MS = 250;

/** Proxies cut streams that are quiet for a minute or two. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Workers learn that a client has left only when they write to it (measured in workerd, with `enable_request_signal`).
 * Somebody works for the client of a call, and should not do so for long when there is none.
 */
const CALL_KEEP_ALIVE_MS = 1_000;

/** How long a tool has to tidy up after its client left. */
const CLEAN_UP_MS = 5_000;

/** Tells requests, notifications and responses apart (JSON-RPC 2.0 §4, §5; MCP allows only string and integer ids). */
export function readMessage(value: unknown): Message {
  if (!isObject(value)) return { kind: "invalid", problem: "The body must be one JSON-RPC message, an object." };
  const hasId = Object.hasOwn(value, "id");
  const id = readId(value["id"]);
  const invalid = (problem: string): Message => ({ kind: "invalid", ...(id === undefined ? {} : { id }), problem });
  if (value["jsonrpc"] !== "2.0") return invalid('"jsonrpc" must be "2.0".');
  if (!Object.hasOwn(value, "method")) {
    const isResponse = Object.hasOwn(value, "result") || Object.hasOwn(value, "error");
    return isResponse ? { kind: "response" } : invalid('The message has no "method".');
  }
  const { method, params = {} } = value;
  if (typeof method !== "string") return invalid('"method" must be a string.');
  if (hasId && id === undefined)
    return invalid('"id" must be a string or an integer between -(2^53 - 1) and 2^53 - 1.');
  if (!isObject(params)) return invalid('"params" must be an object.');
  return id === undefined
    ? { kind: "notification", method, params }
    : { kind: "request", request: { id, method, params } };
}

/** A method outside the table is absent, whatever JavaScript's objects inherit. */
export function methodOf<Call>(table: Readonly<Record<string, Method<Call>>>, name: string): Method<Call> | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** An error as an HTTP response. Without an id when none could be read: `null` fits no MCP schema. */
export function errorResponse(error: JsonRpcError, id?: RequestId): Response {
  return jsonResponse(errorText(error, id), error.status, error.extras.headers);
}

export type RespondOptions = {
  readonly accepts: Accepts;
  /** Whatever was thrown, as the wire says it. */
  readonly explain: (thrown: unknown) => JsonRpcError;
};

/** Runs the method and answers with one JSON object or an event stream. */
export async function respond(
  c: Context,
  id: RequestId,
  method: () => Promise<Answer>,
  options: RespondOptions,
): Promise<Response> {
  try {
    const answer = await method();
    return typeof answer === "string"
      ? whole(c, resultText(id, answer), options.accepts)
      : await converse(c, id, answer, options);
  } catch (thrown) {
    return errorResponse(options.explain(thrown), id);
  }
}

async function converse(
  c: Context,
  id: RequestId,
  conversation: Conversation,
  options: RespondOptions,
): Promise<Response> {
  const { accepts, explain } = options;
  if (conversation.stream === "at_once" && !accepts.eventStream) {
    throw new JsonRpcError(406, INVALID_REQUEST, "The answer is an event stream; Accept must allow text/event-stream.");
  }
  const queue = new SendQueue();
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort(new DOMException("The client has left.", "AbortError"));
    queue.drop();
  };
  const { signal } = c.req.raw;
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });

  const streams = accepts.eventStream && conversation.stream !== "never";
  const notify = async (method: string, params: JsonText): Promise<void> => {
    if (streams) await queue.push(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`);
  };
  const finished = conversation.run({ signal: gone.signal, notify }).then(
    (result) => ({ status: 200, text: resultText(id, result), headers: undefined }),
    (thrown: unknown) => {
      // Nothing more is sent to a client that left, and its leaving is no fault of ours (MCP 2026-07-28 cancellation).
      if (gone.signal.aborted) return { status: 499, text: null, headers: undefined };
      const error = explain(thrown);
      return { status: error.status, text: errorText(error, id), headers: error.extras.headers };
    },
  );
  letCleanUp(c, finished, gone.signal);
  if (conversation.stream !== "at_once") {
    const first = await Promise.race([finished, ...(streams ? [queue.spoken, after(GRACE_MS)] : [])]);
    if (first) {
      signal.removeEventListener("abort", leave);
      if (first.text === null) return new Response(null, { status: first.status });
      return first.status === 200
        ? whole(c, first.text, accepts)
        : jsonResponse(first.text, first.status, first.headers);
    }
  }
  void finished.then(({ text }) => (text === null ? queue.drop() : queue.end(text)));
  return eventStream(c, queue, {
    keepAliveMs: conversation.stream === "at_once" ? KEEP_ALIVE_MS : CALL_KEEP_ALIVE_MS,
    onGone: leave,
  });
}

/** When its client leaves, Workers drop what a request was doing; a tool that was told to stop may tidy up before. */
function letCleanUp(c: Context, finished: Promise<unknown>, gone: AbortSignal): void {
  let context: Context["executionCtx"];
  try {
    context = c.executionCtx;
  } catch {
    // Outside Workers there is no such context, and nothing is dropped.
    return;
  }
  context.waitUntil(finished.then(() => (gone.aborted ? after(CLEAN_UP_MS) : undefined)));
}

/** One answer, in the type the client takes. */
function whole(c: Context, text: JsonText, accepts: Accepts): Response {
  if (accepts.json) return jsonResponse(text, 200);
  const queue = new SendQueue();
  queue.end(text);
  return eventStream(c, queue, { keepAliveMs: KEEP_ALIVE_MS, onGone: () => queue.drop() });
}

function jsonResponse(text: JsonText, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, {
    status,
    headers: { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers },
  });
}

const resultText = (id: RequestId, result: JsonText): JsonText =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;

function errorText(error: JsonRpcError, id: RequestId | undefined): JsonText {
  const { code, message, extras } = error;
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: extras.data } });
}

const readId = (id: unknown): RequestId | undefined =>
  typeof id === "string" || Number.isSafeInteger(id) ? (id as RequestId) : undefined;

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
