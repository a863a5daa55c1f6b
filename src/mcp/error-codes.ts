/** MCP's own JSON-RPC error codes since 2026-07-28 (schema, Error Codes); no other code of their range may be sent. */
export const HEADER_MISMATCH = -32020;
export const MISSING_REQUIRED_CLIENT_CAPABILITY = -32021;
export const UNSUPPORTED_PROTOCOL_VERSION = -32022;
