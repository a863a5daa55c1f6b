import { isObject } from "../task/json";
import type { RegisteredTool } from "../tool/registry";

/** The argument that words alone can fill: the only required one, when it is a string of any kind. */
export function freeTextField({ inputSchema }: RegisteredTool): string | undefined {
  const { required, properties } = inputSchema;
  if (!Array.isArray(required) || required.length !== 1 || !isObject(properties)) return undefined;
  const [name] = required as readonly unknown[];
  if (typeof name !== "string") return undefined;
  const property = properties[name];
  return isObject(property) && property["type"] === "string" ? name : undefined;
}
