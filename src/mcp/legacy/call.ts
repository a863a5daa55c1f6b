import type { RequestId } from "../../json-rpc";
import { ownerOf, type Principal } from "../../service/principal";
import type { JsonObject } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import { traceOf } from "../trace";
import type { McpDeps } from "../wing";
import type { LegacyRevision } from "./revision";
import type { LegacySession } from "./session";

/** Whoever is at the other end of a session. */
export type Caller = {
  readonly principal: Principal;
  readonly session: LegacySession;
  readonly revision: LegacyRevision;
  readonly deps: McpDeps;
};

/** One request within a session. */
export type Call = Caller & {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Headers;
  readonly unsafeNumbers: boolean;
};

/** Whom tokens that a client brings back are bound to. Anonymous callers are told apart by their sessions alone. */
export const boundTo = ({ principal, session }: Caller): string => ownerOf(principal) ?? `anonymous:${session.key}`;

export const clientFacts = ({ principal, session, revision, params }: Call): ClientFacts => ({
  revision: revision.version,
  capabilities: session.capabilities,
  principal: principal.kind === "identified" ? { issuer: principal.issuer, subject: principal.subject } : null,
  session: { key: session.key, expiresAt: session.expiresAt },
  ...traceOf(params),
});
