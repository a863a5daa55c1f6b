import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import type { Context } from "hono";
import type { Principal } from "../service/principal";
import { slowAnswer } from "../slow-answer";
import type { JsonText } from "../task/json";
import { ask, type Call, type Result } from "./ask";
import type { A2aDeps, Caller } from "./deps";
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
  readonly handlerFor: (deps: A2aDeps, caller: Caller) => A2ARequestHandler;
  readonly principal: Principal;
};

const STREAMS: readonly string[] = ["SendStreamingMessage", "SubscribeToTask", "message/stream", "tasks/resubscribe"];
const SENDS: readonly string[] = ["SendMessage", "message/send"];

/** A call that is fit to be made, from there to its response. Throws what it came to before there was one. */
export async function serve(c: Context, door: Door, call: Call, binding: Binding): Promise<Response> {
  const { deps, handlerFor, principal } = door;
  const { raw } = c.req;
  const { wire, method } = call;
  const { headers } = raw;
  const { origin } = new URL(raw.url);
  const explain = (thrown: unknown): Explained => explainThrown(thrown, deps.log, principal);
  const asked = (signal: AbortSignal) => ask(handlerFor(deps, { principal, headers, wire, origin, signal }), call);
  // Spoken to by who knows it (A2A 1.0 §3.2.6).
  const activated = asksRequests(headers)
    ? { [wire === "a2a/1.0" ? "A2A-Extensions" : "X-A2A-Extensions"]: INPUT_REQUESTS_URI }
    : undefined;

  if (STREAMS.includes(method)) {
    const events = async function* (signal: AbortSignal) {
      yield* (await asked(signal)) as AsyncGenerator<Result, void>;
    };
    // 0.3 says that what it resubscribes to is a stream, whatever becomes of it.
    const options = { binding, explain, headers: activated, atOnce: method === "tasks/resubscribe" };
    return streamAnswer(c, events, options);
  }
  const answer = async (signal: AbortSignal): Promise<Response> => {
    try {
      const text = binding.result((await asked(signal)) as Result);
      return textResponse(text, 200, binding.contentType, activated);
    } catch (thrown) {
      // Nothing is sent to a client that left, and its leaving is no fault of ours.
      return signal.aborted ? new Response(null, { status: 499 }) : errorResponse(explain(thrown), binding);
    }
  };
  if (!SENDS.includes(method)) return answer(raw.signal);
  // It was said already, where it was explained.
  const onLate = (): void => {};
  return slowAnswer(answer, { signal: raw.signal, onLate, contentType: binding.contentType });
}

export const errorResponse = (
  explained: Explained,
  binding: Binding,
  status = binding.errorStatus ?? explained.wire[1],
): Response => textResponse(binding.error(explained), status, binding.contentType, explained.headers);

const textResponse = (text: JsonText, status: number, contentType: string, headers: Explained["headers"] = {}) =>
  new Response(text, {
    status,
    headers: { "Content-Type": contentType, "Cache-Control": "no-store", ...headers },
  });
