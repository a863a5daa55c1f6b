import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import { HELPER_TOOLS, isToolName } from "../tool/declaration";
import { registerTool, type RegisteredTool, type Registry } from "../tool/registry";
import { remoteTool, type RemoteTool } from "../tool/remote-tool";
import { MAX_REMOTE_TOOLS, type RemoteTools, type ToolCatalog } from "./tool-catalog";
import { withOtherChanges } from "./tool-list-news";

export type CatalogParts = {
  readonly registry: Registry;
  /** Those of `REMOTE_TOOLS`. */
  readonly configured: readonly RemoteTool[];
  /** Those declared over the API. */
  readonly declared: RemoteTools;
  /** Yields at other changes of the list, if there are any. */
  readonly otherChanges?: ((signal: AbortSignal) => AsyncIterable<unknown>) | undefined;
  readonly log?: (line: object) => void;
};

/** Throws `misconfigured` for a fault in `REMOTE_TOOLS`. */
export function createCatalog(parts: CatalogParts): ToolCatalog {
  const { registry, declared, otherChanges } = parts;
  const configured = parts.configured.map((tool) => configuredTool(tool, registry));
  const own = [...registry.list(), ...configured];
  const byName = new Map(own.map((registered) => [registered.tool.name, registered]));
  const compiled = compiledTools(parts.log ?? (() => {}));
  const owns = (name: string): boolean => byName.has(name) || HELPER_TOOLS.includes(name);
  return {
    owns,
    async find(name) {
      // What cannot be declared need not be asked for.
      if (owns(name) || !isToolName(name)) return byName.get(name);
      const tool = await declared.get(name);
      return (tool && compiled(tool)) ?? undefined;
    },
    async list() {
      // A deploy may have taken a name that was declared before.
      const others = (await declared.list()).filter(({ name }) => !owns(name));
      return [...own, ...others.flatMap((tool) => compiled(tool) ?? [])];
    },
    changes: (signal) => {
      const news = declared.changes(signal);
      return otherChanges ? withOtherChanges(news, otherChanges(signal)) : news;
    },
  };
}

function configuredTool(tool: RemoteTool, registry: Registry): RegisteredTool {
  try {
    if (registry.get(tool.name)) {
      const name = JSON.stringify(tool.name);
      throw new TaskError("misconfigured", `Tool ${name}: a tool in the code has the same \`name\`.`);
    }
    return registerTool(remoteTool(tool));
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    throw new TaskError(error.code, `REMOTE_TOOLS: ${error.message}`);
  }
}

/** Schemas are compiled once, for as long as a tool's declaration stays word for word the same. */
function compiledTools(log: (line: object) => void) {
  const byName = new Map<string, { readonly text: JsonText; readonly registered: RegisteredTool | null }>();
  /** Null for one that was declared when other rules held: it must not spoil the list of the others. */
  return (tool: RemoteTool): RegisteredTool | null => {
    const text = JSON.stringify(tool);
    const known = byName.get(tool.name);
    if (known?.text === text) return known.registered;
    let registered: RegisteredTool | null = null;
    try {
      registered = registerTool(remoteTool(tool));
    } catch (error) {
      if (!(error instanceof TaskError)) throw error;
      log({ level: "error", message: "A declared tool cannot be served.", error: error.message });
    }
    byName.delete(tool.name);
    const [oldest] = byName.keys();
    if (byName.size >= MAX_REMOTE_TOOLS && oldest !== undefined) byName.delete(oldest);
    byName.set(tool.name, { text, registered });
    return registered;
  };
}
