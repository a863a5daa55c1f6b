import type { Clock } from "../clock";
import type { Config } from "../env";
import type { Accepts, Answer, JsonRpcError, JsonRpcRequest } from "../json-rpc";
import type { Sealer } from "../seal";
import type { Principal } from "../service/principal";
import type { Sessions } from "../service/sessions";
import type { TaskService } from "../service/task-service";
import type { ToolCatalog } from "../service/tool-catalog";
import type { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import type { CallContext } from "../tool/context";

/** What the MCP views stand on. */
export type McpDeps = {
  readonly config: Config;
  readonly tools: ToolCatalog;
  readonly tasks: TaskService;
  readonly sealer: Sealer;
  readonly sessions: Sessions;
  readonly clock: Clock;
  /** For URLs a caller gave to a tool. */
  readonly fetch: CallContext["fetch"];
  readonly log?: (line: object) => void;
};

/** What goes with the messages of one HTTP request, from a known caller. */
export type Inbound = {
  readonly headers: Headers;
  readonly principal: Principal;
  readonly accepts: Accepts;
  /** The body holds a number that JavaScript cannot represent: what was parsed is not what was sent. */
  readonly unsafeNumbers: boolean;
  readonly deps: McpDeps;
};

/** One request of a modern revision; `capabilities` are what the client declared on this very request. */
export type ModernCall = Omit<Inbound, "accepts"> & JsonRpcRequest & { readonly capabilities: JsonObject };

/** One modern revision of the protocol. */
export type Wing = {
  serve(call: ModernCall): Answer | Promise<Answer>;
  toJsonRpcError(error: TaskError): JsonRpcError;
};
