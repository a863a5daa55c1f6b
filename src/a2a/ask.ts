import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { isObject, type Json, type JsonObject } from "../task/json";
import type { Dialect } from "./dialect";

export type Call = Dialect & { readonly params: JsonObject };

/** One event of a stream, or the whole result. */
export type Result = Json | undefined;

/**
 * Asks the SDK's transport, which knows how each generation writes what the handler takes and gives. What the handler
 * throws is thrown here as it was: the SDK would put the text of any exception on the wire.
 */
export async function ask(
  handler: A2ARequestHandler,
  { wire, method, params }: Call,
): Promise<Result | AsyncGenerator<Result, void>> {
  const { JsonRpcTransportHandler, LegacyJsonRpcTransportHandler, ServerCallContext } = await import("./sdk");
  let thrown: unknown;
  const watched = watch(handler, (error) => (thrown = error));
  const modern = wire === "a2a/1.0";
  const transport = modern ? new JsonRpcTransportHandler(watched) : new LegacyJsonRpcTransportHandler(watched);
  const context = new ServerCallContext({ requestedVersion: modern ? "1.0" : "0.3" });
  const answer: object = await transport.handle({ jsonrpc: "2.0", id: null, method, params }, context);
  if (Symbol.asyncIterator in answer) return resultsOf(answer as AsyncGenerator<Envelope, void>, method);
  const { result, error } = answer as Envelope;
  if (error === undefined) return method === "ListTaskPushNotificationConfigs" ? withEmpty(result) : result;
  // Without a throw it is the SDK's own, which nothing that was let through should come to.
  throw thrown ?? new Error(`The transport refused ${method}: ${error.message}`);
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
function watch(handler: A2ARequestHandler, keep: (thrown: unknown) => void): A2ARequestHandler {
  return new Proxy(handler, {
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
