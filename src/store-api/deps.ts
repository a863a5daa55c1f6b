import type { Context } from "hono";
import type { Clock } from "../clock";
import type { Config } from "../env";
import type { Principal } from "../service/principal";
import type { RemoteTools, ToolCatalog } from "../service/tool-catalog";
import type { WorkService } from "../service/work-service";
import type { JsonText } from "../task/json";
import type { Answer } from "./answer";
import type { StoreApi } from "./api";

/** What the store API stands on. */
export type StoreDeps = {
  readonly config: Config;
  readonly store: { as(principal: Principal): StoreApi };
  readonly work: WorkService;
  readonly remoteTools: RemoteTools;
  /** For the names that belong to the deployment. */
  readonly catalog: Pick<ToolCatalog, "owns">;
  readonly clock: Clock;
  readonly log?: (line: object) => void;
};

/** A body: its value to check, its text to take the caller's own values from. */
export type Posted = { readonly value: unknown; readonly text: JsonText; readonly unsafeNumbers: boolean };

export type StoreEnv = { Variables: { principal: Principal; posted: Posted } };
export type StoreContext = Context<StoreEnv>;

/** One method of one path: what the routes are made of, and what the OpenAPI document is held against. */
export type Operation = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/store/v1`, with `:name` for what varies. */
  readonly path: string;
  /** Who may come: everybody who is known; whoever keeps all records of the namespace; only workers and admins. */
  readonly opens: "known" | "keepers" | "workers";
  readonly hasBody?: true;
  /** The condition (RFC 9110 §13.1) that it understands; one that it does not is refused. */
  readonly condition?: "if-match" | "if-none-match";
  readonly serve: (c: StoreContext) => Promise<Answer | Response>;
};
