import type { Context } from "hono";
import {
  INVALID_REQUEST,
  JsonRpcError,
  METHOD_NOT_FOUND,
  methodOf,
  type Answer,
  type JsonRpcRequest,
  type Message,
} from "../../json-rpc";
import { respond, respondToAll } from "../../respond";
import { mcp20250326 } from "../2025-03-26/methods";
import { mcp20250618 } from "../2025-06-18/methods";
import { mcp20251125 } from "../2025-11-25/methods";
import type { Legacy, ValidMessage } from "../era";
import { explainer } from "../explain";
import type { Inbound } from "../wing";
import type { Caller } from "./call";
import { toJsonRpcError } from "./errors";
import { openGetStream } from "./get-stream";
import { initialize } from "./initialize";
import { takeResponse } from "./questions";
import type { LegacyRevision } from "./revision";
import { openSession } from "./session";

const revisions: Readonly<Record<Legacy, LegacyRevision>> = {
  "2025-11-25": mcp20251125,
  "2025-06-18": mcp20250618,
  "2025-03-26": mcp20250326,
};
const newest = mcp20251125;

/** No body should keep the server busy for long. */
const MAX_BATCH = 100;

/** One message of a session, or the request that begins one. `version`: of the header, for where there is no session. */
export async function answerLegacy(
  c: Context,
  message: ValidMessage,
  inbound: Inbound & { readonly version: Legacy | null },
): Promise<Response> {
  if (message.kind !== "request") {
    // Without a session it is of nothing that goes on here, and drops without a sound.
    if (inbound.headers.has("mcp-session-id")) await take(message, await callerOf(inbound), inbound);
    return c.body(null, 202);
  }
  const { request } = message;
  const serve = async (): Promise<Answer> => {
    if (request.method === "initialize")
      return initialize({ ...inbound, ...request }, (wished) => revisionNamed(wished) ?? newest);
    const caller = await openCaller(inbound);
    return answer(request, inbound, caller, caller?.revision ?? revisions[inbound.version ?? newest.version]);
  };
  return respond(c, request.id, serve, optionsOf(inbound));
}

/** Several messages in one body (2025-03-26 transports §Sending Messages): the answers come in one list. */
export async function answerBatch(c: Context, messages: readonly Message[], inbound: Inbound): Promise<Response> {
  const caller = await callerOf(inbound);
  if (!caller.revision.batches) throw refused(400, "A body holds exactly one message in this session's revision.");
  if (messages.length > MAX_BATCH) throw refused(400, `A batch holds at most ${MAX_BATCH} messages.`);
  const requests = messages.flatMap((message) => {
    if (message.kind === "request") {
      const { request } = message;
      return { id: request.id, method: async () => answer(request, inbound, caller, caller.revision) };
    }
    if (message.kind !== "invalid") return [];
    return { id: message.id, method: () => Promise.reject(refused(400, message.problem)) };
  });
  for (const message of messages)
    if (message.kind === "notification" || message.kind === "response") await take(message, caller, inbound);
  return requests.length === 0 ? c.body(null, 202) : respondToAll(c, requests, optionsOf(inbound));
}

/** The stream of a session, for what answers no request; or a stream that broke. */
export async function openLegacyStream(c: Context, inbound: Inbound): Promise<Response> {
  const { accepts, explain } = optionsOf(inbound);
  if (!accepts.eventStream) throw refused(406, "Accept must allow text/event-stream.");
  return openGetStream(c, await callerOf(inbound), explain);
}

const optionsOf = (inbound: Inbound) => ({
  accepts: inbound.accepts,
  explain: explainer(toJsonRpcError, inbound),
});

/** A method that is not there is not there, session or none: clients probe for what a server can do. */
function answer(
  request: JsonRpcRequest,
  inbound: Inbound,
  caller: Caller | null,
  revision: LegacyRevision,
): Answer | Promise<Answer> {
  const run = methodOf(revision.methods(inbound.principal), request.method);
  if (!run) {
    const message = `There is no such method in MCP ${revision.version} on this server.`;
    throw new JsonRpcError(200, METHOD_NOT_FOUND, message);
  }
  if (!caller) throw noSession(inbound);
  return run({ ...inbound, ...caller, ...request });
}

/** A notification or a response gets no answer, also where it means nothing. */
async function take(
  message: Extract<Message, { kind: "notification" | "response" }>,
  caller: Caller,
  { unsafeNumbers }: Inbound,
): Promise<void> {
  if (message.kind === "response") {
    if (unsafeNumbers) throw refused(400, "The answer holds a number that cannot be kept exactly.");
    return takeResponse(caller, message.id, message.result);
  }
  const { requestId } = message.params;
  // For plain calls; a task is cancelled by its own method alone (2025-11-25 cancellation §Behavior Requirements).
  if (message.method === "notifications/cancelled" && (typeof requestId === "string" || typeof requestId === "number"))
    await caller.deps.sessions.cancel(caller.session, requestId);
}

async function callerOf(inbound: Inbound): Promise<Caller> {
  const caller = await openCaller(inbound);
  if (!caller) throw noSession(inbound);
  return caller;
}

async function openCaller({ headers, principal, deps }: Inbound): Promise<Caller | null> {
  const id = headers.get("mcp-session-id");
  const session = id === null ? null : await openSession(deps, principal, id);
  // A revision that is served no longer ends its sessions.
  const revision = session && revisionNamed(session.version);
  return revision && { principal, deps, session, revision };
}

const revisionNamed = (version: string): LegacyRevision | null =>
  Object.hasOwn(revisions, version) ? revisions[version as Legacy] : null;

/** 404 has the client begin anew; the same for an id that is unknown, forged, expired or another caller's. */
const noSession = ({ headers }: Inbound): JsonRpcError =>
  headers.has("mcp-session-id")
    ? refused(404, "There is no such session, or it has expired; begin a new one with initialize.")
    : refused(400, "The Mcp-Session-Id header is missing; initialize answers with one.");

const refused = (status: number, message: string): JsonRpcError => new JsonRpcError(status, INVALID_REQUEST, message);
