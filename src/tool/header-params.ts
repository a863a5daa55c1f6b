import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import { quoted } from "./field-name";
import { subschemas } from "./subschemas";

const KEYWORD = "x-mcp-header";
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ["string", "integer", "boolean"];

/**
 * The arguments a client repeats in `Mcp-Param-*` headers: header name → property names from the root. A fault here
 * would make conforming clients drop the tool from their list without a word, so it is an error at start
 * (MCP 2026-07-28 Streamable HTTP §Schema Extension).
 */
export function headerParams(inputSchema: JsonObject, where: string): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, readonly string[]>();
  const taken = new Set<string>();
  for (const { schema, path, properties } of subschemas(inputSchema)) {
    if (!isObject(schema) || !Object.hasOwn(schema, KEYWORD)) continue;
    const name = schema[KEYWORD];
    const fault = (wants: string): TaskError =>
      new TaskError("misconfigured", `${where}: ${KEYWORD} ${quoted(name)} at ${quoted(path.join("/"))} ${wants}.`);

    if (typeof name !== "string" || !TOKEN.test(name)) throw fault("must be a header name: an RFC 9110 token");
    if (properties === null || properties.length === 0) {
      throw fault("must be on a property that is reached from the root through `properties` only");
    }
    if (!TYPES.includes(schema["type"])) {
      throw fault('needs a property whose `type` is "string", "integer" or "boolean"');
    }
    if (taken.has(name.toLowerCase())) throw fault("is used twice; header names do not differ by case");
    taken.add(name.toLowerCase());
    headers.set(name, properties);
  }
  return headers;
}
