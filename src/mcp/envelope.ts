import { isObject, type JsonObject } from "../task/json";

export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** What each modern request says about itself in `params._meta` (MCP 2026-07-28 base §Per-request protocol fields). */
export type Envelope =
  | { readonly kind: "none" }
  | { readonly kind: "faulty"; readonly problem: string }
  | { readonly kind: "whole"; readonly protocolVersion: string };

/** `none` when there is no word of a protocol version: the request may be of the era that had none. */
export function readEnvelope(params: JsonObject): Envelope {
  const meta = params["_meta"];
  if (!isObject(meta) || !Object.hasOwn(meta, PROTOCOL_VERSION)) return { kind: "none" };
  const protocolVersion = meta[PROTOCOL_VERSION];
  if (typeof protocolVersion !== "string") return faulty(`params._meta["${PROTOCOL_VERSION}"] must be a string.`);
  if (!Object.hasOwn(meta, CLIENT_CAPABILITIES))
    return faulty(`params._meta lacks "${CLIENT_CAPABILITIES}"; {} declares none.`);
  if (!isObject(meta[CLIENT_CAPABILITIES])) return faulty(`params._meta["${CLIENT_CAPABILITIES}"] must be an object.`);
  return { kind: "whole", protocolVersion };
}

const faulty = (problem: string): Envelope => ({ kind: "faulty", problem });
