/** A JSON value as `JSON.parse` gives it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export type JsonObject = { readonly [name: string]: Json };

/**
 * A JSON document as text. Values a caller or a tool made are kept and carried this way, byte for byte: a key named
 * `__proto__`, a lone surrogate (escaped by `JSON.stringify`), NUL and U+2028 all survive storage and RPC as text.
 */
export type JsonText = string;
