import { overLimit, TaskError, tooLarge } from "../task/errors";
import type { JsonText } from "../task/json";
import { registerTool } from "../tool/registry";
import { remoteTool, type RemoteTool } from "../tool/remote-tool";
import { MAX_REMOTE_TOOL_BYTES, MAX_REMOTE_TOOLS } from "./tool-catalog";

/**
 * What a declaration must be before it is kept: every client would stumble over a bad one. `owns` says which names are
 * the deployment's own. Throws `invalid`, or `too_large`, in the words of whoever declared it.
 */
export function checkRemoteTool(tool: RemoteTool, owns: (name: string) => boolean): void {
  declarationText(tool);
  try {
    registerTool(remoteTool(tool));
  } catch (error) {
    if (error instanceof TaskError && error.code === "misconfigured") throw new TaskError("invalid", error.message);
    throw error;
  }
  if (owns(tool.name)) {
    throw new TaskError(
      "invalid",
      `Tool ${JSON.stringify(tool.name)}: a tool of the deployment itself has this \`name\`; choose another.`,
    );
  }
}

/** As it is kept. */
export function declarationText(tool: RemoteTool): JsonText {
  const text = JSON.stringify(tool);
  if (new TextEncoder().encode(text).byteLength <= MAX_REMOTE_TOOL_BYTES) return text;
  throw tooLarge("The declaration of a remote tool", "MAX_REMOTE_TOOL_BYTES", MAX_REMOTE_TOOL_BYTES);
}

export const tooManyTools = (): TaskError =>
  overLimit("MAX_REMOTE_TOOLS", MAX_REMOTE_TOOLS, "remove a remote tool that is not used any more.");
