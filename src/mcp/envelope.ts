import { isObject, type JsonObject } from "../task/json";

// What each modern request says about itself in `params._meta` (MCP 2026-07-28 base §Per-request protocol fields).
export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

export const metaOf = ({ _meta }: JsonObject): JsonObject => (isObject(_meta) ? _meta : {});
