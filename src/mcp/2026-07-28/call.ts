import type { RequestId } from "../../json-rpc";
import type { Principal } from "../../service/principal";
import type { JsonObject } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import { traceOf } from "../trace";
import type { McpDeps } from "../wing";

/** One request of this revision. It stands alone: nothing of an earlier one counts (base §Statelessness). */
export type Call = {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: Headers;
  readonly principal: Principal;
  /** What the client declared on this very request. */
  readonly capabilities: JsonObject;
  readonly unsafeNumbers: boolean;
  readonly deps: McpDeps;
};

export const REVISION = "2026-07-28";

export const clientFacts = ({ capabilities, principal, params }: Call): ClientFacts => ({
  revision: REVISION,
  capabilities,
  principal: principal.kind === "identified" ? { issuer: principal.issuer, subject: principal.subject } : null,
  ...traceOf(params),
});
