import type { Conversation, Method } from "../../json-rpc";
import type { Principal } from "../../service/principal";
import type { TaskSnapshot } from "../../service/task-store";
import type { JsonObject } from "../../task/json";
import type { InputRequest } from "../../task/task";
import type { ToolResult } from "../../tool/define-tool";
import type { Legacy } from "../era";
import type { ListedTool } from "../listed-tools";
import type { Call, Caller } from "./call";
import type { Resumable } from "./resume";

/** What one of the older revisions has of its own; what they share is beside this file. */
export type LegacyRevision = {
  readonly version: Legacy;
  /** Everything it answers this caller, but `initialize`. What is absent is not served. */
  methods(principal: Principal): Readonly<Record<string, Method<Call>>>;
  /** What the server declares besides tools and logging. */
  capabilities(principal: Principal): JsonObject;
  /** The client capabilities it has, each with its members. */
  readonly clientCapabilities: Readonly<Record<string, readonly string[]>>;
  /** A body may be a list of messages. */
  readonly batches: boolean;
  /** Goes on with a stream that broke, for a client that comes back; without it no event names the stream. */
  readonly resume?: (caller: Caller, resumable: Resumable) => Conversation;
  /** Whether a client that declared this needs the helper tools to look after a task. */
  needsHelpers(capabilities: JsonObject): boolean;
  toTool(tool: ListedTool): object;
  toCallToolResult(result: ToolResult): object;
  /** The params of a question to the client. */
  toInputParams(request: InputRequest, elicitationId: string): JsonObject;
  /** The params of `notifications/tasks/status`; absent where there are no tasks. */
  readonly toTaskStatus?: (task: TaskSnapshot) => object;
};
