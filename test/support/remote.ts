import type { RemoteTool } from "../../src/tool/remote-tool";

/** A remote tool, good as it is. */
export const remote = (facts: Partial<RemoteTool> = {}): RemoteTool => ({
  name: "render",
  description: "Renders a scene.",
  inputSchema: { type: "object", properties: { frames: { type: "integer", minimum: 1 } } },
  queue: "gpu",
  ...facts,
});
