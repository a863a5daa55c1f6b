/** A JSON value as `JSON.parse` gives it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export type JsonObject = { readonly [name: string]: Json };

/**
 * A JSON document as text. Values a caller or a tool made are kept and carried this way, byte for byte: a key named
 * `__proto__`, a lone surrogate (escaped by `JSON.stringify`), NUL and U+2028 all survive storage and RPC as text.
 */
export type JsonText = string;

/** A JSON object: neither an array nor null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same text for the same value, in whatever order its keys were written: for digests. */
export function canonicalJson(value: Json): JsonText {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(",")}}`;
}
