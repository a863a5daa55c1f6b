import { identityOf } from "../../service/principal";
import type { ClientFacts } from "../../task/task";
import { traceOf } from "../trace";
import type { ModernCall } from "../wing";

/** One request of this revision. It stands alone: nothing of an earlier one counts (base §Statelessness). */
export type Call = ModernCall;

export const REVISION = "2026-07-28";

export const clientFacts = ({ capabilities, principal, params }: Call): ClientFacts => ({
  revision: REVISION,
  capabilities,
  principal: identityOf(principal),
  ...traceOf(params),
});
