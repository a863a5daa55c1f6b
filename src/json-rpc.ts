import { isObject, type Json, type JsonObject, type JsonText } from "./task/json";

export type RequestId = string | number;

export type JsonRpcRequest = { readonly id: RequestId; readonly method: string; readonly params: JsonObject };

export type Message =
  | { readonly kind: "request"; readonly request: JsonRpcRequest }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  /** Without a result it is an error, whichever. */
  | { readonly kind: "response"; readonly id: RequestId | undefined; readonly result: Json | undefined }
  /** `id` is there when it could be read, so that the error can name it. */
  | { readonly kind: "invalid"; readonly id: RequestId | undefined; readonly problem: string };

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
  /** Whether anything but the answer reaches the client. */
  readonly streams: boolean;
  /** Resolves once it is on its way, or was dropped because the answer cannot be a stream. */
  notify(method: string, params: JsonText, eventId?: string): Promise<void>;
  /** A request of the server's own; its response comes in a POST of its own. Resolves as `notify` does. */
  request(id: RequestId, method: string, params: JsonText): Promise<void>;
  /** Names the stream, ahead of all else on it: with this id a client may come back for what it missed. */
  prime(eventId: string, lastEventId?: string): void;
};

/** A method that may take long or speak on the way. It ends in a result, as JSON text. */
export type Conversation = {
  /** `when_slow`: one JSON answer if it ends soon and says nothing before. `never`: one JSON answer, however long it takes. */
  readonly stream: "at_once" | "when_slow" | "never";
  /** It only waits: nothing is done for this client alone, so that it left need not be noticed soon. */
  readonly waits?: true;
  readonly run: (exchange: Exchange) => Promise<JsonText>;
};

/** A result at hand, and what its response says besides. */
export type Whole = { readonly result: JsonText; readonly headers: Readonly<Record<string, string>> };

export type Answer = JsonText | Whole | Conversation;

/** Thrown by a method whose client does not want it any more: nothing is sent for it. */
export class Withdrawn extends Error {
  override readonly name = "Withdrawn";
}

export type Method<Call> = (call: Call) => Answer | Promise<Answer>;

/** The types of answer the client's Accept header allows. */
export type Accepts = { readonly json: boolean; readonly eventStream: boolean };

/** Tells requests, notifications and responses apart (JSON-RPC 2.0 §4, §5; MCP allows only string and integer ids). */
export function readMessage(value: unknown): Message {
  if (!isObject(value))
    return { kind: "invalid", id: undefined, problem: "The body must be one JSON-RPC message, an object." };
  const hasId = Object.hasOwn(value, "id");
  const id = readId(value["id"]);
  const invalid = (problem: string): Message => ({ kind: "invalid", id, problem });
  if (value["jsonrpc"] !== "2.0") return invalid('"jsonrpc" must be "2.0".');
  if (!Object.hasOwn(value, "method")) {
    const result = value["result"];
    if (result === undefined && !Object.hasOwn(value, "error")) return invalid('The message has no "method".');
    return { kind: "response", id, result };
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

export const resultText = (id: RequestId, result: JsonText): JsonText =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;

/** Without an id when none could be read: `null` fits no MCP schema. */
export function errorText(error: JsonRpcError, id?: RequestId): JsonText {
  const { code, message, extras } = error;
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: extras.data } });
}

const readId = (id: unknown): RequestId | undefined =>
  typeof id === "string" || Number.isSafeInteger(id) ? (id as RequestId) : undefined;
