import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  JsonRpcError,
  readMessage,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from "../json-rpc";
import { CLIENT_CAPABILITIES, PROTOCOL_VERSION, readEnvelope } from "./envelope";
import { HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION } from "./error-codes";

/** Modern requests say their version in `params._meta`; legacy ones agreed on it in `initialize`. */
type Era = "modern" | "legacy";

/** The revisions that are served, newest first. One more is a row here and a folder beside this file. */
const served = {
  "2026-07-28": "modern",
  "2025-11-25": "legacy",
  "2025-06-18": "legacy",
  "2025-03-26": "legacy",
} as const satisfies Readonly<Record<string, Era>>;

export type Revision<E extends Era = Era> = {
  [R in keyof typeof served]: (typeof served)[R] extends E ? R : never;
}[keyof typeof served];

export type EraDecision =
  | { readonly kind: "modern"; readonly revision: Revision<"modern">; readonly request: JsonRpcRequest }
  /** `version` is what the header says; the session knows better, if there is one. */
  | { readonly kind: "legacy"; readonly version: Revision<"legacy"> | null; readonly message: ValidMessage }
  | { readonly kind: "legacy_batch"; readonly messages: readonly Message[] }
  /** Nothing to answer: 202. */
  | { readonly kind: "accepted" }
  | Rejected;

export type ValidMessage = Exclude<Message, { kind: "invalid" }>;

type Rejected = { readonly kind: "rejected"; readonly error: JsonRpcError; readonly id?: RequestId };

/** The first modern revision; versions are dates, so text order is time order. */
const FIRST_MODERN = "2026-07-28";

/** The one revision whose bodies may be lists (its changelog is where they came in, that of 2025-06-18 where they left). */
const BATCHES = "2025-03-26";

export const revisionsOf = <E extends Era>(era: E): readonly Revision<E>[] =>
  (Object.keys(served) as Revision<E>[]).filter((revision) => served[revision] === era);

/**
 * Which revision a posted body belongs to. The body decides and the header is checked against it: a request that names
 * its version in `_meta` is modern whatever else it carries, and never falls back to legacy.
 */
export function decideEra(body: unknown, versionHeader: string | null): EraDecision {
  const header = versionHeader?.trim() ?? null;
  if (Array.isArray(body)) return batch(body, header);
  const message = readMessage(body);
  const modernHeader = header !== null && isModern(header);
  switch (message.kind) {
    case "invalid":
      return rejected(INVALID_REQUEST, message.problem, message.id);
    case "response":
      // Modern servers send no requests, so there is nothing to respond to (2026-07-28 patterns, introduction).
      return modernHeader
        ? rejected(INVALID_REQUEST, "This server sends no requests, so it takes no responses.")
        : legacy(message, header);
    case "notification":
      // Modern clients have none to send over HTTP; those that come are let pass (2026-07-28 transports §Sending Messages).
      return modernHeader || hasEnvelope(message) ? { kind: "accepted" } : legacy(message, header);
    case "request":
      return modernHeader || hasEnvelope(message.request) ? modern(message.request, header) : legacy(message, header);
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
  const envelope = readEnvelope(params);
  switch (envelope.kind) {
    case "none":
      return rejected(
        INVALID_PARAMS,
        `params._meta must carry "${PROTOCOL_VERSION}" and "${CLIENT_CAPABILITIES}".`,
        id,
      );
    case "faulty":
      return rejected(INVALID_PARAMS, envelope.problem, id);
    case "whole": {
      const { protocolVersion } = envelope;
      // Before the version is looked at: a mismatch is a mismatch, whether or not either is supported.
      if (header !== null && header !== protocolVersion) {
        const message = "The MCP-Protocol-Version header and params._meta name different versions.";
        return rejected(HEADER_MISMATCH, message, id);
      }
      const revision = revisionsOf("modern").find((version) => version === protocolVersion);
      return revision ? { kind: "modern", revision, request } : unsupported(protocolVersion, id);
    }
  }
}

function legacy(message: ValidMessage, header: string | null): EraDecision {
  const version = header === null ? null : known(header);
  const request = message.kind === "request" ? message.request : null;
  // `initialize` is where versions are agreed on: what it wishes for stands in its params.
  if (header !== null && version === null && request?.method !== "initialize") return unknownVersion(request?.id);
  return { kind: "legacy", version, message };
}

function batch(body: readonly unknown[], header: string | null): EraDecision {
  const messages = body.map(readMessage);
  const ofBatches = header === null || header === BATCHES;
  const modernElement = messages.some(
    (message) =>
      (message.kind === "request" && hasEnvelope(message.request)) ||
      (message.kind === "notification" && hasEnvelope(message)),
  );
  return messages.length === 0 || !ofBatches || modernElement
    ? rejected(INVALID_REQUEST, `A body holds exactly one message, except in MCP ${BATCHES}.`)
    : { kind: "legacy_batch", messages };
}

function unsupported(requested: string, id: RequestId): Rejected {
  const supported = revisionsOf("modern");
  const message = `Unsupported protocol version; each request must name one of ${supported.join(", ")} in its header and params._meta.`;
  return rejected(UNSUPPORTED_PROTOCOL_VERSION, message, id, { supported, requested });
}

/** A MUST (2025-11-25 transports §Protocol Version Header). */
const unknownVersion = (id?: RequestId): Rejected =>
  rejected(
    INVALID_REQUEST,
    `The MCP-Protocol-Version header names no version that is served; with a session those are ${revisionsOf("legacy").join(", ")}.`,
    id,
  );

function rejected(code: number, message: string, id?: RequestId, data?: unknown): Rejected {
  const error = new JsonRpcError(400, code, message, data === undefined ? {} : { data });
  return { kind: "rejected", error, ...(id === undefined ? {} : { id }) };
}

const hasEnvelope = ({ params }: Pick<JsonRpcRequest, "params">): boolean => readEnvelope(params).kind !== "none";

const known = (version: string): Revision<"legacy"> | null =>
  revisionsOf("legacy").find((revision) => revision === version) ?? null;

const isModern = (version: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN;
