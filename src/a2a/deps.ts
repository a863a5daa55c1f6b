import type { Clock } from "../clock";
import type { Config } from "../env";
import type { Sealer } from "../seal";
import type { Principal } from "../service/principal";
import type { TaskService } from "../service/task-service";
import type { ToolCatalog } from "../service/tool-catalog";
import type { CallContext } from "../tool/context";

/** What the A2A views stand on. */
export type A2aDeps = {
  readonly config: Config;
  readonly tools: ToolCatalog;
  readonly tasks: TaskService;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** For URLs a caller gave to a tool. */
  readonly fetch: CallContext["fetch"];
  readonly log?: (line: object) => void;
};

/** The two generations that are spoken here; what is sent later, to a push target, is written in the one that asked for it. */
export type Wire = "a2a/1.0" | "a2a/0.3";

/** Who asks, and how: the same for all methods of one request. */
export type Caller = {
  readonly principal: Principal;
  readonly headers: Headers;
  readonly wire: Wire;
  /** The deployment's own address as the caller wrote it, e.g. `https://tasks.example.com`. */
  readonly origin: string;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Nothing is refused any more, and what is left may take long. */
  readonly onWait?: () => void;
};
