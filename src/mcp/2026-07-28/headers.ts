import { JsonRpcError, type JsonRpcRequest } from "../../json-rpc";
import { isObject, type Json, type JsonObject } from "../../task/json";
import type { RegisteredTool } from "../../tool/registry";
import { HEADER_MISMATCH } from "../error-codes";

/** Which of the params `Mcp-Name` mirrors (transports §Standard Request Headers; tasks §Routing Headers). */
const named: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/**
 * The headers that mirror the body, for routers that do not read it: each must be there and say the same (transports
 * §Server Validation). The body is the truth; that a wrong value of the body itself is refused is the method's business.
 */
export function checkMirrors(headers: Headers, { method, params }: JsonRpcRequest): void {
  // Whether it says the same is checked with the version itself.
  check("MCP-Protocol-Version", plain(headers, "MCP-Protocol-Version"), undefined, "params._meta");
  // Compared as it is: method names need no Base64.
  check("Mcp-Method", plain(headers, "Mcp-Method"), method, "the method of the body");
  const member = Object.hasOwn(named, method) ? named[method] : undefined;
  if (member === undefined) return;
  const value = params[member];
  check("Mcp-Name", decoded(headers, "Mcp-Name"), typeof value === "string" ? value : undefined, `params.${member}`);
}

/** `Mcp-Param-*` for the arguments that the tool's schema annotates (transports §Server Behavior for Custom Headers). */
export function checkParamHeaders(headers: Headers, tool: RegisteredTool, args: JsonObject): void {
  for (const [suffix, path] of tool.headers) {
    const value = path.reduce<Json | undefined>(
      (within, key) => (isObject(within) && Object.hasOwn(within, key) ? within[key] : undefined),
      args,
    );
    // Absent arguments have no header, and one of another type is for the argument check to refuse.
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") continue;
    const name = `Mcp-Param-${suffix}`;
    check(name, decoded(headers, name), value, "its argument");
  }
}

/** Numbers are compared as numbers: 42 is 42.0. */
function check(
  name: string,
  header: string | null,
  value: string | number | boolean | undefined,
  mirrored: string,
): void {
  const same =
    typeof value === "number"
      ? /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(header ?? "") && Number(header) === value
      : value === undefined || header === String(value);
  if (header !== null && same) return;
  const wrong = header === null ? "is missing or malformed" : `differs from ${mirrored}`;
  throw new JsonRpcError(400, HEADER_MISMATCH, `The ${name} header ${wrong}.`);
}

/**
 * The value without the optional whitespace round it (RFC 9110 §5.5), which some platforms leave there. Null for one with
 * characters that a header may not have.
 */
function plain(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value !== null && /^[\t\x20-\x7e]*$/.test(value) ? value.trim() : null;
}

/** The same with the Base64 form decoded, in which clients send what a header cannot carry (transports §Value Encoding). */
function decoded(headers: Headers, name: string): string | null {
  const value = plain(headers, name);
  const base64 = /^=\?base64\?(.*)\?=$/.exec(value ?? "")?.[1];
  if (base64 === undefined) return value;
  try {
    const binary = atob(base64);
    // Only the one canonical spelling: `atob` also takes spaces, missing padding and stray bits.
    if (btoa(binary) !== base64) return null;
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
