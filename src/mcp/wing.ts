import type { Clock } from "../clock";
import type { Config } from "../env";
import type { Answer, JsonRpcError, JsonRpcRequest } from "../json-rpc";
import type { Sealer } from "../seal";
import type { Principal } from "../service/principal";
import type { Sessions } from "../service/sessions";
import type { TaskService } from "../service/task-service";
import type { ToolCatalog } from "../service/tool-catalog";
import type { TaskError } from "../task/errors";
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

/** A request that is known to be of a modern revision, from a known caller. */
export type Inbound = {
  readonly request: JsonRpcRequest;
  readonly headers: Headers;
  readonly principal: Principal;
  /** The body holds a number that JavaScript cannot represent: what was parsed is not what was sent. */
  readonly unsafeNumbers: boolean;
};

/** One modern revision of the protocol. */
export type Wing = {
  serve(inbound: Inbound, deps: McpDeps): Promise<Answer>;
  toJsonRpcError(error: TaskError): JsonRpcError;
};
