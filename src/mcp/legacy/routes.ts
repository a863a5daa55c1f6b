import type { Context } from "hono";
import {
  INVALID_REQUEST,
  JsonRpcError,
  METHOD_NOT_FOUND,
  methodOf,
  type Accepts,
  type Answer,
  type JsonRpcRequest,
  type Message,
} from "../../json-rpc";
import { errorResponse, respond, respondToAll } from "../../respond";
import type { Principal } from "../../service/principal";
import { mcp20250326 } from "../2025-03-26/methods";
import { mcp20250618 } from "../2025-06-18/methods";
import { mcp20251125 } from "../2025-11-25/methods";
import type { Revision, ValidMessage } from "../era";
import { explainThrown } from "../explain";
import type { McpDeps } from "../wing";
import type { Caller } from "./call";
import { toJsonRpcError } from "./errors";
import { openGetStream } from "./get-stream";
import { initialize } from "./initialize";
import { takeResponse } from "./questions";
import type { LegacyRevision } from "./revision";
import { openSession, type LegacySession } from "./session";

const revisions: Readonly<Record<Revision<"legacy">, LegacyRevision>> = {
  "2025-11-25": mcp20251125,
  "2025-06-18": mcp20250618,
  "2025-03-26": mcp20250326,
};
const newest = mcp20251125;

/** No body should keep the server busy for long. */
const MAX_BATCH = 100;

export type LegacyInbound = {
  readonly headers: Headers;
  readonly principal: Principal;
  readonly accepts: Accepts;
  readonly unsafeNumbers: boolean;
  /** What the version header names; it counts where there is no session to know better. */
  readonly version: Revision<"legacy"> | null;
};

type Sender = LegacyInbound & { readonly deps: McpDeps };

/** One message of a session, or the request that begins one. */
export async function answerLegacy(
  c: Context,
  message: ValidMessage,
  inbound: LegacyInbound,
  deps: McpDeps,
): Promise<Response> {
  const sender = { ...inbound, deps };
  const explain = explainer(deps, inbound.principal);
  if (message.kind === "request") {
    const { request } = message;
    return respond(c, request.id, () => serve(request, sender), { accepts: inbound.accepts, explain });
  }
  try {
    // Without a session it is of nothing that goes on here, and drops without a sound.
    if (inbound.headers.has("mcp-session-id")) await take(message, await callerOf(sender), sender);
    return c.body(null, 202);
  } catch (thrown) {
    return errorResponse(explain(thrown));
  }
}

/** Several messages in one body (2025-03-26 transports §Sending Messages): the answers come in one list. */
export async function answerBatch(
  c: Context,
  messages: readonly Message[],
  inbound: LegacyInbound,
  deps: McpDeps,
): Promise<Response> {
  const sender = { ...inbound, deps };
  const explain = explainer(deps, inbound.principal);
  try {
    const caller = await callerOf(sender);
    if (!caller.revision.batches) throw refused(400, "A body holds exactly one message in this session's revision.");
    if (messages.length > MAX_BATCH) throw refused(400, `A batch holds at most ${MAX_BATCH} messages.`);
    const requests = messages.flatMap((message) => {
      if (message.kind === "request")
        return { id: message.request.id, method: async () => serveInSession(message.request, caller, sender) };
      if (message.kind !== "invalid") return [];
      const method = () => Promise.reject(refused(400, message.problem));
      return message.id === undefined ? { method } : { id: message.id, method };
    });
    for (const message of messages)
      if (message.kind === "notification" || message.kind === "response") await take(message, caller, sender);
    return requests.length === 0
      ? c.body(null, 202)
      : await respondToAll(c, requests, { accepts: inbound.accepts, explain });
  } catch (thrown) {
    return errorResponse(explain(thrown));
  }
}

/** The stream of a session, for what answers no request; or a stream that broke. */
export async function openLegacyStream(c: Context, inbound: LegacyInbound, deps: McpDeps): Promise<Response> {
  const explain = explainer(deps, inbound.principal);
  try {
    if (!inbound.accepts.eventStream) throw refused(406, "Accept must allow text/event-stream.");
    return await openGetStream(c, await callerOf({ ...inbound, deps }), explain);
  } catch (thrown) {
    return errorResponse(explain(thrown));
  }
}

/** A method that is not there is not there, session or none: clients probe for what a server can do. */
async function serve(request: JsonRpcRequest, sender: Sender): Promise<Answer> {
  const { principal, headers, version, deps } = sender;
  if (request.method === "initialize") {
    const revisionFor = (wished: string): LegacyRevision =>
      Object.hasOwn(revisions, wished) ? revisions[wished as Revision<"legacy">] : newest;
    return initialize({ ...sender, params: request.params }, principal, revisionFor, deps);
  }
  const session = await sessionOf(sender);
  const revision = session ? revisionOf(session) : version === null ? newest : revisions[version];
  if (!methodOf(revision.methods(principal), request.method)) throw absent(revision);
  if (!session) throw noSession(headers);
  return serveInSession(request, { principal, session, revision, deps }, sender);
}

function serveInSession(
  { id, method, params }: JsonRpcRequest,
  caller: Caller,
  { headers, unsafeNumbers }: Sender,
): Answer | Promise<Answer> {
  const run = methodOf(caller.revision.methods(caller.principal), method);
  if (!run) throw absent(caller.revision);
  return run({ ...caller, id, method, params, headers, unsafeNumbers });
}

/** A notification or a response gets no answer, also where it means nothing. */
async function take(
  message: Extract<Message, { kind: "notification" | "response" }>,
  caller: Caller,
  { unsafeNumbers }: Sender,
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

async function callerOf(sender: Sender): Promise<Caller> {
  const session = await sessionOf(sender);
  if (!session) throw noSession(sender.headers);
  const { principal, deps } = sender;
  return { principal, session, revision: revisionOf(session), deps };
}

async function sessionOf({ headers, principal, deps }: Sender): Promise<LegacySession | null> {
  const id = headers.get("mcp-session-id");
  const session = id === null ? null : await openSession(deps, principal, id);
  // A revision that is served no longer ends its sessions.
  return session && Object.hasOwn(revisions, session.version) ? session : null;
}

const revisionOf = ({ version }: LegacySession): LegacyRevision => revisions[version as Revision<"legacy">];

/** 404 has the client begin anew; the same for an id that is unknown, forged, expired or another caller's. */
const noSession = (headers: Headers): JsonRpcError =>
  headers.has("mcp-session-id")
    ? refused(404, "There is no such session, or it has expired; begin a new one with initialize.")
    : refused(400, "The Mcp-Session-Id header is missing; initialize answers with one.");

const absent = ({ version }: LegacyRevision): JsonRpcError =>
  new JsonRpcError(200, METHOD_NOT_FOUND, `There is no such method in MCP ${version} on this server.`);

const refused = (status: number, message: string): JsonRpcError => new JsonRpcError(status, INVALID_REQUEST, message);

const explainer = (deps: McpDeps, principal: Principal) => (thrown: unknown) =>
  explainThrown(thrown, toJsonRpcError, deps.log, principal);
