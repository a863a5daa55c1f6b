import type { JsonRpcRequest } from "../../json-rpc";
import { identityOf, ownerOf } from "../../service/principal";
import type { ClientFacts } from "../../task/task";
import { traceOf } from "../trace";
import type { Inbound } from "../wing";
import type { LegacyRevision } from "./revision";
import type { LegacySession } from "./session";

/** Whoever is at the other end of a session. */
export type Caller = Pick<Inbound, "principal" | "deps"> & {
  readonly session: LegacySession;
  readonly revision: LegacyRevision;
};

/** One request within a session. */
export type Call = Inbound & Caller & JsonRpcRequest;

/** Whom tokens that a client brings back are bound to. Anonymous callers are told apart by their sessions alone. */
export const boundTo = ({ principal, session }: Caller): string => ownerOf(principal) ?? `anonymous:${session.key}`;

export const clientFacts = ({ principal, session, revision, params }: Call): ClientFacts => ({
  revision: revision.version,
  capabilities: session.capabilities,
  principal: identityOf(principal),
  session: { key: session.key, expiresAt: session.expiresAt },
  ...traceOf(params),
});
