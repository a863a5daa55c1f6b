import type { Context } from "hono";
import type { Principal } from "../service/principal";
import { whenAborted } from "../service/when-aborted";
import { slowAnswer } from "../slow-answer";
import type { JsonText } from "../task/json";
import { ask, type Call, type Handler, type Result } from "./ask";
import type { A2aDeps, Caller } from "./deps";
import { OLD, wireOf } from "./dialect";
import { explainThrown, type Explained } from "./errors";
import { asksRequests, INPUT_REQUESTS_URI } from "./extensions";
import { streamAnswer } from "./stream";

/** How a binding writes down what a call came to. */
export type Binding = {
  readonly contentType: string;
  readonly result: (result: Result) => JsonText;
  readonly error: (explained: Explained) => JsonText;
  /** Of an error's response, in place of its own. */
  readonly errorStatus?: number;
};

export type Door = {
  readonly deps: A2aDeps;
  readonly handlerFor: (deps: A2aDeps, caller: Caller) => Handler;
  readonly principal: Principal;
};

const STREAMS: readonly string[] = ["SendStreamingMessage", "SubscribeToTask", "message/stream", "tasks/resubscribe"];
const SENDS: readonly string[] = ["SendMessage", "message/send"];

/** A call that is fit to be made, from there to its response. Throws what it came to before there was one. */
export async function serve(c: Context, door: Door, call: Call, binding: Binding): Promise<Response> {
  const response = await answered(c, door, call, binding);
  // Spoken to by who knows it (A2A 1.0 §3.2.6).
  if (asksRequests(c.req.raw.headers)) {
    const name = wireOf(call.method) === OLD ? "X-A2A-Extensions" : "A2A-Extensions";
    response.headers.set(name, INPUT_REQUESTS_URI);
  }
  return response;
}

async function answered(c: Context, door: Door, call: Call, binding: Binding): Promise<Response> {
  const { deps, handlerFor, principal } = door;
  const { url, headers, signal: leaving } = c.req.raw;
  const { method } = call;
  const caller = { principal, headers, wire: wireOf(method), origin: new URL(url).origin };
  const explain = (thrown: unknown): Explained => explainThrown(thrown, deps.log, principal);
  const asked = (signal: AbortSignal, onWait?: () => void) =>
    ask(handlerFor(deps, { ...caller, signal, ...(onWait && { onWait }) }), call);

  if (STREAMS.includes(method)) {
    const events = async function* (signal: AbortSignal) {
      yield* (await asked(signal)) as AsyncGenerator<Result, void>;
    };
    // 0.3 says that what it resubscribes to is a stream, whatever becomes of it.
    return streamAnswer(c, events, { binding, explain, atOnce: method === "tasks/resubscribe" });
  }
  const answer = async (signal: AbortSignal, onWait?: () => void): Promise<Response> => {
    try {
      return textResponse(binding.result((await asked(signal, onWait)) as Result), 200, binding.contentType);
    } catch (thrown) {
      // Nothing is sent to a client that left, and its leaving is no fault of ours.
      return signal.aborted ? new Response(null, { status: 499 }) : errorResponse(explain(thrown), binding);
    }
  };
  return SENDS.includes(method) ? patientAnswer(answer, leaving, binding) : answer(leaving);
}

/**
 * Until it is known that the message is taken, an error may need a status of its own; what comes then is waited for
 * with the headers out. Where errors travel on 200 nobody waits for that.
 */
async function patientAnswer(
  answer: (signal: AbortSignal, onWait: () => void) => Promise<Response>,
  signal: AbortSignal,
  { contentType, errorStatus }: Binding,
): Promise<Response> {
  const gone = new AbortController();
  const waits = Promise.withResolvers<undefined>();
  whenAborted(signal, () => gone.abort(signal.reason));
  const working = answer(gone.signal, () => waits.resolve(undefined));
  const quick = errorStatus === undefined && (await Promise.race([working, waits.promise]));
  if (quick) return quick;
  const work = (left: AbortSignal): Promise<Response> => {
    whenAborted(left, () => gone.abort(left.reason));
    return working;
  };
  // What comes late was said already, where it was explained.
  return slowAnswer(work, { signal, onLate: () => {}, contentType });
}

export const errorResponse = (
  explained: Explained,
  binding: Binding,
  status = binding.errorStatus ?? explained.status,
): Response => textResponse(binding.error(explained), status, binding.contentType, explained.headers);

const textResponse = (text: JsonText, status: number, contentType: string, headers: Explained["headers"] = {}) =>
  new Response(text, {
    status,
    headers: { "Content-Type": contentType, "Cache-Control": "no-store", ...headers },
  });
