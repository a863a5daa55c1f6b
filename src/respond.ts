import type { Context } from "hono";
import { dropWhenGone, eventStream, SendQueue } from "./event-stream";
import {
  errorText,
  INVALID_REQUEST,
  JsonRpcError,
  resultText,
  Withdrawn,
  type Accepts,
  type Answer,
  type Conversation,
  type Exchange,
  type RequestId,
  type Whole,
} from "./json-rpc";
import type { JsonText } from "./task/json";

/** How long an answer may take before the stream is opened so that the client sees that something happens. */
const GRACE_MS = 250;

/** Proxies cut streams that are quiet for a minute or two. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Workers learn that a client has left only when they write to it (measured in workerd, with `enable_request_signal`).
 * Somebody works for the client of a call, and should not do so for long when there is none.
 */
const CALL_KEEP_ALIVE_MS = 1_000;

/** How long a client waits before it comes back to a stream that broke. */
const RETRY_MS = 1_000;

/** How long a tool has to tidy up after its client left. */
const CLEAN_UP_MS = 5_000;

/** An error as an HTTP response. */
export function errorResponse(error: JsonRpcError, id?: RequestId): Response {
  return jsonResponse(errorText(error, id), error.status, error.extras.headers);
}

export type RespondOptions = {
  readonly accepts: Accepts;
  /** Whatever was thrown, as the wire says it. */
  readonly explain: (thrown: unknown) => JsonRpcError;
};

/** A conversation that ends in what is sent; null where nothing is. */
type Talk = Omit<Conversation, "run"> & {
  readonly run: (exchange: Exchange) => Promise<JsonText | null>;
  /** Of the request, for an error to name. */
  readonly id?: RequestId;
  /** It answers no request, so a stream that has begun just ends. */
  readonly unasked?: true;
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
    if (typeof answer === "string") return whole(c, resultText(id, answer), options.accepts);
    if (!("run" in answer)) return whole(c, resultText(id, answer.result), options.accepts, answer.headers);
    const run = async (exchange: Exchange): Promise<JsonText> => resultText(id, await answer.run(exchange));
    return await converse(c, { ...answer, id, run }, options);
  } catch (thrown) {
    return errorResponse(options.explain(thrown), id);
  }
}

/** Answers several requests at once: each in its place, as one list. */
export async function respondToAll(
  c: Context,
  requests: readonly { readonly id?: RequestId | undefined; readonly method: () => Promise<Answer> }[],
  options: RespondOptions,
): Promise<Response> {
  const answerOne = async ({ id, method }: (typeof requests)[number], exchange: Exchange): Promise<JsonText | null> => {
    try {
      const answer = await method();
      const result = typeof answer === "string" ? answer : "run" in answer ? await answer.run(exchange) : answer.result;
      return resultText(id as RequestId, result);
    } catch (thrown) {
      return thrown instanceof Withdrawn ? null : errorText(options.explain(thrown), id);
    }
  };
  const run = async (exchange: Exchange): Promise<JsonText> => {
    const shared: Exchange = { ...exchange, prime: () => {} };
    const texts = await Promise.all(requests.map((request) => answerOne(request, shared)));
    return `[${texts.filter((text) => text !== null).join(",")}]`;
  };
  return converse(c, { stream: "when_slow", run }, options);
}

/** A stream that answers no request: it lasts until its client leaves, or `run` ends. What fails at once is an error. */
export function openStream(
  c: Context,
  run: (exchange: Exchange) => Promise<void>,
  explain: RespondOptions["explain"],
): Promise<Response> {
  const talk: Talk = {
    stream: "when_slow",
    waits: true,
    unasked: true,
    run: (exchange) => run(exchange).then(() => null),
  };
  return converse(c, talk, { accepts: { json: false, eventStream: true }, explain });
}

async function converse(c: Context, talk: Talk, options: RespondOptions): Promise<Response> {
  const { accepts, explain } = options;
  if (talk.stream === "at_once" && !accepts.eventStream) {
    throw new JsonRpcError(406, INVALID_REQUEST, "The answer is an event stream; Accept must allow text/event-stream.");
  }
  const queue = new SendQueue();
  const { signal } = c.req.raw;
  const { gone, leave } = dropWhenGone(queue, signal);

  const streams = accepts.eventStream && talk.stream !== "never";
  const { exchange, named } = exchangeOver(queue, streams, gone.signal);
  const finished = talk.run(exchange).then(
    (text) => ({ status: 200, text, headers: undefined }),
    (thrown: unknown) => {
      // Nothing more is sent to a client that left, and its leaving is no fault of ours (MCP 2026-07-28 cancellation).
      if (gone.signal.aborted) return { status: 499, text: null, headers: undefined };
      if (thrown instanceof Withdrawn) return { status: 204, text: null, headers: undefined };
      const error = explain(thrown);
      return { status: error.status, text: errorText(error, talk.id), headers: error.extras.headers };
    },
  );
  letCleanUp(c, finished, gone.signal);
  if (talk.stream !== "at_once") {
    const first = await Promise.race([finished, ...(streams ? [queue.spoken, after(GRACE_MS)] : [])]);
    if (first) {
      signal.removeEventListener("abort", leave);
      if (first.text === null) return new Response(null, { status: first.status });
      return first.status === 200
        ? whole(c, first.text, accepts)
        : jsonResponse(first.text, first.status, first.headers);
    }
  }
  void finished.then(({ text }) => {
    if (gone.signal.aborted) queue.drop();
    else queue.end(text === null || talk.unasked ? undefined : { data: text, ...named() });
  });
  return eventStream(c, queue, {
    keepAliveMs: talk.waits || talk.stream === "at_once" ? KEEP_ALIVE_MS : CALL_KEEP_ALIVE_MS,
    onGone: leave,
  });
}

/** `named` is the id of a primed stream's last event: it tells a client that there is nothing to come back for. */
function exchangeOver(queue: SendQueue, streams: boolean, signal: AbortSignal) {
  let last: string | undefined;
  const send = async (message: string, id?: string): Promise<void> => {
    if (streams) await queue.push({ data: `{"jsonrpc":"2.0",${message}}`, ...(id && { id }) });
  };
  const call = (method: string, params: JsonText): string => `"method":${JSON.stringify(method)},"params":${params}`;
  const exchange: Exchange = {
    signal,
    streams,
    notify: (method, params, eventId) => send(call(method, params), eventId),
    request: (id, method, params) => send(`"id":${JSON.stringify(id)},${call(method, params)}`),
    prime(eventId, lastEventId) {
      last = lastEventId;
      if (streams) queue.prime({ data: "", id: eventId, retry: RETRY_MS });
    },
  };
  return { exchange, named: () => last && { id: last } };
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
function whole(c: Context, text: JsonText, accepts: Accepts, headers: Whole["headers"] = {}): Response {
  if (accepts.json) return jsonResponse(text, 200, headers);
  const queue = new SendQueue();
  queue.end({ data: text });
  const response = eventStream(c, queue, { keepAliveMs: KEEP_ALIVE_MS, onGone: () => queue.drop() });
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

function jsonResponse(text: JsonText, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, {
    status,
    headers: { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers },
  });
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
