import type { RegisteredTool } from "../tool/registry";
import type { RemoteTool } from "../tool/remote-tool";

/** `ready`, once and first: no change from here on is missed. */
export type ToolListNews = "ready" | "changed";

/** The remote tools that were declared over the API: kept by the deployment, the same for everybody. */
export interface RemoteTools {
  /** Declares it, in place of one of the same name. Throws `limit_reached` past `MAX_REMOTE_TOOLS`, `too_large`. */
  put(tool: RemoteTool): Promise<void>;
  /** Whether it was there. */
  remove(name: string): Promise<boolean>;
  get(name: string): Promise<RemoteTool | null>;
  /** By name. */
  list(): Promise<readonly RemoteTool[]>;
  /** Until the signal aborts. Declaring a tool in the same words again is no change. */
  changes(signal: AbortSignal): AsyncIterable<ToolListNews>;
}

export const MAX_REMOTE_TOOLS = 200;
/** Of one declaration, as JSON. */
export const MAX_REMOTE_TOOL_BYTES = 65_536;

/**
 * All tools: the deployment's own, those of `REMOTE_TOOLS`, and those declared over the API, in this order; of one name
 * the first counts. Asking for one of the first two kinds costs nothing.
 */
export interface ToolCatalog {
  /** Whether the name is the deployment's, so that no tool may be declared under it. */
  owns(name: string): boolean;
  find(name: string): Promise<RegisteredTool | undefined>;
  list(): Promise<readonly RegisteredTool[]>;
  /** Until the signal aborts. */
  changes(signal: AbortSignal): AsyncIterable<ToolListNews>;
}
