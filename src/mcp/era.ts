import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  JsonRpcError,
  readMessage,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from "../json-rpc";
import { isObject, type JsonObject } from "../task/json";
import { CLIENT_CAPABILITIES, metaOf, PROTOCOL_VERSION } from "./envelope";
import { HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION } from "./error-codes";

// The revisions that are served, newest first. One more is a name here and a folder beside this file.

/** Their requests say their version in `params._meta`. */
export const MODERN = ["2026-07-28"] as const;

/** Theirs agreed on it in `initialize`. */
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

export type Modern = (typeof MODERN)[number];
export type Legacy = (typeof LEGACY)[number];
export type Revision = Modern | Legacy;

export type EraDecision =
  | {
      readonly kind: "modern";
      readonly revision: Modern;
      readonly request: JsonRpcRequest;
      readonly capabilities: JsonObject;
    }
  /** `version` is what the header says; the session knows better, if there is one. */
  | { readonly kind: "legacy"; readonly version: Legacy | null; readonly message: ValidMessage }
  | { readonly kind: "legacy_batch"; readonly messages: readonly Message[] }
  /** Nothing to answer: 202. */
  | { readonly kind: "accepted" }
  | Rejected;

export type ValidMessage = Exclude<Message, { kind: "invalid" }>;

type Rejected = { readonly kind: "rejected"; readonly error: JsonRpcError; readonly id?: RequestId | undefined };

/** The first modern revision; versions are dates, so text order is time order. */
const FIRST_MODERN = "2026-07-28";

/** The one revision whose bodies may be lists (its changelog is where they came in, that of 2025-06-18 where they left). */
const BATCHES = "2025-03-26";

/**
 * Which revision a posted body belongs to. The body decides and the header is checked against it: a request that names
 * its version in `_meta` is modern whatever else it carries, and never falls back to legacy.
 */
export function decideEra(body: unknown, versionHeader: string | null): EraDecision {
  const header = versionHeader?.trim() ?? null;
  if (Array.isArray(body)) return batch(body, header);
  const message = readMessage(body);
  if (message.kind === "invalid") return rejected(INVALID_REQUEST, message.problem, message.id);
  if (!isModern(header) && !hasEnvelope(message)) return legacy(message, header);
  switch (message.kind) {
    case "request":
      return modern(message.request, header);
    case "notification":
      // Modern clients have none to send over HTTP; those that come are let pass (2026-07-28 transports §Sending Messages).
      return { kind: "accepted" };
    case "response":
      // Modern servers send no requests, so there is nothing to respond to (2026-07-28 patterns, introduction).
      return rejected(INVALID_REQUEST, "This server sends no requests, so it takes no responses.");
  }
}

/** Whether a GET may open a stream: there are none since 2026-07-28 (its transports §Earlier Streamable HTTP Revisions). */
export function decideStream(versionHeader: string | null): { readonly kind: "legacy" } | Rejected {
  const header = versionHeader?.trim() ?? null;
  if (header === null || known(header) !== null) return { kind: "legacy" };
  if (!isModern(header)) return unknownVersion();
  const message = "This revision opens no streams with GET.";
  return { kind: "rejected", error: new JsonRpcError(405, INVALID_REQUEST, message, { headers: { Allow: "POST" } }) };
}

function modern(request: JsonRpcRequest, header: string | null): EraDecision {
  const { id, params } = request;
  const { [PROTOCOL_VERSION]: requested, [CLIENT_CAPABILITIES]: capabilities } = metaOf(params);
  if (typeof requested !== "string" || !isObject(capabilities)) {
    const message = `params._meta must hold "${PROTOCOL_VERSION}", a string, and "${CLIENT_CAPABILITIES}", an object; {} declares none.`;
    return rejected(INVALID_PARAMS, message, id);
  }
  // Before the version is looked at: a mismatch is a mismatch, whether or not either is supported.
  if (header !== null && header !== requested)
    return rejected(HEADER_MISMATCH, "The MCP-Protocol-Version header and params._meta name different versions.", id);
  const revision = MODERN.find((version) => version === requested);
  if (revision) return { kind: "modern", revision, request, capabilities };
  const message = `Unsupported protocol version; each request must name one of ${MODERN.join(", ")} in its header and params._meta.`;
  return rejected(UNSUPPORTED_PROTOCOL_VERSION, message, id, { supported: MODERN, requested });
}

function legacy(message: ValidMessage, header: string | null): EraDecision {
  const version = known(header);
  const request = message.kind === "request" ? message.request : null;
  // `initialize` is where versions are agreed on: what it wishes for stands in its params.
  if (header !== null && version === null && request?.method !== "initialize") return unknownVersion(request?.id);
  return { kind: "legacy", version, message };
}

function batch(body: readonly unknown[], header: string | null): EraDecision {
  const messages = body.map(readMessage);
  const ofBatches = header === null || header === BATCHES;
  return messages.length === 0 || !ofBatches || messages.some(hasEnvelope)
    ? rejected(INVALID_REQUEST, `A body holds exactly one message, except in MCP ${BATCHES}.`)
    : { kind: "legacy_batch", messages };
}

/** A MUST (2025-11-25 transports §Protocol Version Header). */
const unknownVersion = (id?: RequestId): Rejected =>
  rejected(
    INVALID_REQUEST,
    `The MCP-Protocol-Version header names no version that is served; with a session those are ${LEGACY.join(", ")}.`,
    id,
  );

const rejected = (code: number, message: string, id?: RequestId, data?: object): Rejected => ({
  kind: "rejected",
  error: new JsonRpcError(400, code, message, { data }),
  id,
});

function hasEnvelope(message: Message): boolean {
  const { params } = message.kind === "request" ? message.request : { params: {}, ...message };
  return Object.hasOwn(metaOf(params), PROTOCOL_VERSION);
}

const known = (version: string | null): Legacy | null => LEGACY.find((revision) => revision === version) ?? null;

const isModern = (version: string | null): boolean =>
  version !== null && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN;
