import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  JsonRpcError,
  readMessage,
  type JsonRpcRequest,
  type RequestId,
} from "../json-rpc";
import { CLIENT_CAPABILITIES, PROTOCOL_VERSION, readEnvelope } from "./envelope";
import { HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION } from "./error-codes";

/** Modern requests say their version in `params._meta`; legacy ones agreed on it in `initialize`. */
type Era = "modern" | "legacy";

/** The revisions that are served, newest first. One more is a row here and a folder beside this file. */
const served = { "2026-07-28": "modern" } as const satisfies Readonly<Record<string, Era>>;

export type Revision = keyof typeof served;

export type EraDecision =
  | { readonly kind: "request"; readonly revision: Revision; readonly request: JsonRpcRequest }
  /** Nothing to answer: 202. */
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected"; readonly error: JsonRpcError; readonly id?: RequestId };

/** The first modern revision; versions are dates, so text order is time order. */
const FIRST_MODERN = "2026-07-28";

/** What a server takes a request without the header for (MCP 2025-11-25 transports §Protocol Version Header). */
const UNNAMED_LEGACY = "2025-03-26";

export const revisionsOf = (era: Era): readonly Revision[] =>
  (Object.keys(served) as Revision[]).filter((revision) => served[revision] === era);

/**
 * Which revision a posted body belongs to. The body decides and the header is checked against it: a request that names
 * its version in `_meta` is modern whatever else it carries, and never falls back to legacy.
 */
export function decideEra(body: unknown, versionHeader: string | null): EraDecision {
  // Arrays left the protocol with 2025-06-18 (changelog 1).
  if (Array.isArray(body))
    return rejected(400, INVALID_REQUEST, "A body holds exactly one message; batches are not served.");
  const message = readMessage(body);
  const header = versionHeader?.trim() ?? null;
  const modernHeader = header !== null && isModern(header);
  switch (message.kind) {
    case "invalid":
      return rejected(400, INVALID_REQUEST, message.problem, message.id);
    case "response":
      // Modern servers send no requests, so there is nothing to respond to (2026-07-28 patterns, introduction).
      return modernHeader
        ? rejected(400, INVALID_REQUEST, "This server sends no requests, so it takes no responses.")
        : { kind: "accepted" };
    case "notification":
      // Modern clients have none to send over HTTP; those that come are let pass (2026-07-28 transports §Sending Messages).
      return { kind: "accepted" };
    case "request":
      return modernHeader || readEnvelope(message.request.params).kind !== "none"
        ? modern(message.request, header)
        : legacy(message.request, header);
  }
}

function modern(request: JsonRpcRequest, header: string | null): EraDecision {
  const { id, params } = request;
  const envelope = readEnvelope(params);
  switch (envelope.kind) {
    case "none":
      return rejected(
        400,
        INVALID_PARAMS,
        `params._meta must carry "${PROTOCOL_VERSION}" and "${CLIENT_CAPABILITIES}".`,
        id,
      );
    case "faulty":
      return rejected(400, INVALID_PARAMS, envelope.problem, id);
    case "whole": {
      const { protocolVersion } = envelope;
      // Before the version is looked at: a mismatch is a mismatch, whether or not either is supported.
      if (header !== null && header !== protocolVersion) {
        return rejected(
          400,
          HEADER_MISMATCH,
          "The MCP-Protocol-Version header and params._meta name different versions.",
          id,
        );
      }
      const revision = revisionsOf("modern").find((known) => known === protocolVersion);
      return revision ? { kind: "request", revision, request } : unsupported(protocolVersion, id);
    }
  }
}

/** No legacy revision is served yet: the answer names what is (2026-07-28 versioning §Backward Compatibility). */
function legacy({ id, method, params }: JsonRpcRequest, header: string | null): EraDecision {
  const wished = method === "initialize" ? params["protocolVersion"] : undefined;
  return unsupported(typeof wished === "string" ? wished : (header ?? UNNAMED_LEGACY), id);
}

function unsupported(requested: string, id: RequestId): EraDecision {
  const supported = revisionsOf("modern");
  const message = `Unsupported protocol version; each request must name one of ${supported.join(", ")} in its header and params._meta.`;
  return {
    kind: "rejected",
    id,
    error: new JsonRpcError(400, UNSUPPORTED_PROTOCOL_VERSION, message, { data: { supported, requested } }),
  };
}

function rejected(status: number, code: number, message: string, id?: RequestId): EraDecision {
  return { kind: "rejected", error: new JsonRpcError(status, code, message), ...(id === undefined ? {} : { id }) };
}

const isModern = (version: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN;
