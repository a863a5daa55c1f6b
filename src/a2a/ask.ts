import type { StreamResponse } from "@a2a-js/sdk";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { isObject, type Json, type JsonObject } from "../task/json";
import { OLD, wireOf } from "./dialect";
import type { Method } from "./schemas";

export type Call = { readonly method: Method; readonly params: JsonObject };

/** One event of a stream, or the whole result. */
export type Result = Json | undefined;

/** The card is not asked for. */
export type Handler = Omit<A2ARequestHandler, "getAgentCard">;

/**
 * Asks the SDK's transport, which knows how each generation writes what the handler takes and gives. What the handler
 * throws is thrown here as it was: the SDK would put the text of any exception on the wire.
 */
export async function ask(handler: Handler, { method, params }: Call): Promise<Result | AsyncGenerator<Result, void>> {
  const { JsonRpcTransportHandler, LegacyJsonRpcTransportHandler, ServerCallContext } = await import("./sdk");
  let thrown: unknown;
  const watched = watch(handler, (error) => (thrown = error));
  const Transport = wireOf(method) === OLD ? LegacyJsonRpcTransportHandler : JsonRpcTransportHandler;
  const request = { jsonrpc: "2.0", id: null, method, params };
  const answer: object = await new Transport(watched).handle(request, new ServerCallContext());
  if (Symbol.asyncIterator in answer) return resultsOf(answer as AsyncGenerator<Envelope, void>, method);
  const { result, error } = answer as Envelope;
  if (error === undefined) return method === "ListTaskPushNotificationConfigs" ? withEmpty(result) : result;
  // Without a throw it is the SDK's own, which nothing that was let through should come to.
  throw thrown ?? new Error(`The transport refused ${method}: ${error.message}`);
}

/** Events as they are written where no request is answered, which the SDK knows only as a stream's. */
export async function* eventsIn(wire: string, events: readonly StreamResponse[]): AsyncGenerator<Result, void> {
  const handler: Pick<Handler, "sendMessageStream"> = {
    async *sendMessageStream() {
      yield* events;
    },
  };
  const method = wire === OLD ? "message/stream" : "SendStreamingMessage";
  const params = { message: { messageId: "-", role: "user", parts: [] } };
  yield* (await ask(handler as Handler, { method, params })) as AsyncGenerator<Result, void>;
}

/** Of a list without entries the SDK writes nothing at all; a client may well count them. */
const withEmpty = (result: Result): Result => ({ configs: [], nextPageToken: "", ...(result as JsonObject) });

type Envelope = { readonly result?: Result; readonly error?: { readonly message: string } };

async function* resultsOf(stream: AsyncGenerator<Envelope, void>, method: string): AsyncGenerator<Result, void> {
  for await (const { result } of stream) yield method === "message/stream" ? restingIsFinal(result) : result;
}

/** In 0.3 the event after which a stream ends says so; the SDK knows only of tasks that have ended. */
function restingIsFinal(result: Result): Result {
  if (!isObject(result) || result["kind"] !== "status-update" || !isObject(result["status"])) return result;
  return result["status"]["state"] === "input-required" ? { ...result, final: true } : result;
}

/** The same handler; `keep` gets what it rejects with. Streams throw where they are read. */
function watch(handler: Handler, keep: (thrown: unknown) => void): A2ARequestHandler {
  return new Proxy(handler as A2ARequestHandler, {
    get(target, name: keyof A2ARequestHandler) {
      // All that the SDK asks the card for in a call.
      if (name === "getAgentCard") return async () => ({ capabilities: { streaming: true } });
      const method = target[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        const answer = method.apply(target, args);
        if (answer instanceof Promise) answer.catch(keep);
        return answer;
      };
    },
  });
}
