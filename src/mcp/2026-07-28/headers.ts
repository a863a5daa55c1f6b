import { JsonRpcError, type JsonRpcRequest } from "../../json-rpc";
import type { Json, JsonObject } from "../../task/json";
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
  if (headers.get("mcp-protocol-version") === null) throw mismatch("The MCP-Protocol-Version header is missing.");
  // Mcp-Method is compared as it is: method names need no Base64.
  if (plain(headers, "Mcp-Method") !== method)
    throw mismatch("The Mcp-Method header is missing, or does not name the method of the body.");
  const member = Object.hasOwn(named, method) ? named[method] : undefined;
  if (member === undefined) return;
  const name = decoded(headers, "Mcp-Name");
  if (name === null) throw mismatch("The Mcp-Name header is missing.");
  const value = params[member];
  if (typeof value === "string" && name !== value) throw mismatch(`The Mcp-Name header differs from params.${member}.`);
}

/** `Mcp-Param-*` for the arguments that the tool's schema annotates (transports §Server Behavior for Custom Headers). */
export function checkParamHeaders(headers: Headers, tool: RegisteredTool, args: JsonObject): void {
  for (const [suffix, path] of tool.headers) {
    const value = valueAt(args, path);
    // Absent arguments have no header, and one of another type is for the argument check to refuse.
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") continue;
    const name = `Mcp-Param-${suffix}`;
    const header = decoded(headers, name);
    if (header === null) throw mismatch(`The ${name} header is missing, while its argument is there.`);
    if (!mirrors(header, value)) throw mismatch(`The ${name} header differs from its argument.`);
  }
}

/** Numbers are compared as numbers: 42 is 42.0. */
const mirrors = (header: string, value: string | number | boolean): boolean =>
  typeof value === "number"
    ? /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(header) && Number(header) === value
    : header === String(value);

function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args;
  for (const key of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, key))
      return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

/** The value without the optional whitespace round it (RFC 9110 §5.5), which some platforms leave there. */
function plain(headers: Headers, name: string): string | null {
  const value = headers.get(name)?.replace(/^[ \t]+|[ \t]+$/g, "") ?? null;
  if (value !== null && !/^[\t\x20-\x7e]*$/.test(value))
    throw mismatch(`The ${name} header has characters that a header may not have.`);
  return value;
}

/** The same with the Base64 form decoded, in which clients send what a header cannot carry (transports §Value Encoding). */
function decoded(headers: Headers, name: string): string | null {
  const value = plain(headers, name);
  const base64 = value === null ? null : /^=\?base64\?(.*)\?=$/.exec(value);
  if (!base64) return value;
  const text = decodeBase64(base64[1] ?? "");
  if (text === null) throw mismatch(`The ${name} header is not valid Base64 of UTF-8 text.`);
  return text;
}

/** Only the one canonical spelling: `atob` also takes spaces, missing padding and stray bits. */
function decodeBase64(base64: string): string | null {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return null;
  const binary = atob(base64);
  if (btoa(binary) !== base64) return null;
  try {
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const mismatch = (message: string): JsonRpcError => new JsonRpcError(400, HEADER_MISMATCH, message);
