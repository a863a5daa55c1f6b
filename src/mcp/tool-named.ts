import type { Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import type { RegisteredTool } from "../tool/registry";
import { helperTools, type HelperTool } from "./helper-tools";
import type { McpDeps } from "./wing";

type Asked = { readonly deps: McpDeps; readonly principal: Principal };

export async function toolNamed({ deps }: Asked, name: string): Promise<RegisteredTool> {
  const tool = await deps.tools.find(name);
  if (tool) return tool;
  throw new TaskError("unknown_tool", `There is no tool named ${JSON.stringify(name.slice(0, 128))} here.`);
}

export const helperNamed = ({ deps, principal }: Asked, wanted: string): HelperTool | undefined =>
  helperTools(deps, principal).find(({ name }) => name === wanted);
