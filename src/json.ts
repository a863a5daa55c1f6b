import { TaskError } from "./task/errors";
import type { Json, JsonObject, JsonText } from "./task/json";

export type ParsedJson =
  /** `unsafeNumbers`: some number was written as one that this runtime cannot hold, so its value here is another. */
  | { readonly ok: true; readonly value: Json; readonly unsafeNumbers: boolean }
  /** `reason` is a sentence for the sender. */
  | { readonly ok: false; readonly reason: string };

/**
 * A body as JSON, refusing what two readers could read differently: bytes that are not UTF-8 (RFC 8259 §8.1; a byte
 * order mark is dropped), and a key twice in one object (RFC 7493 §2.3: the header, the check and the tool might each
 * see another value). The platform's own parser decides the syntax and decodes the keys.
 */
export function parseJson(bytes: Uint8Array, limits: { readonly maxDepth: number }): ParsedJson {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return { ok: false, reason: "The body is not valid UTF-8." };
  }
  const seen = scan(text, limits.maxDepth);
  if (seen === "too deep") {
    return { ok: false, reason: `The body nests JSON deeper than ${limits.maxDepth} levels (MAX_JSON_DEPTH).` };
  }
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    return { ok: false, reason: "The body is not valid JSON." };
  }
  // Each member written has one colon outside strings, and only a repeated key makes the parser keep fewer.
  if (countMembers(value) !== seen.members) {
    return { ok: false, reason: "The body has a JSON object with the same key twice." };
  }
  return { ok: true, value, unsafeNumbers: seen.unsafeNumbers };
}

/** `unsafeNumbers` of what was parsed. Throws `invalid`. */
export function requireExactNumbers(unsafeNumbers: boolean): void {
  if (!unsafeNumbers) return;
  throw new TaskError(
    "invalid",
    "The request holds a number that cannot be kept exactly; send integers beyond 2^53 - 1 as strings.",
  );
}

/** The text of a body that was parsed: for whoever passes a part of it on as it was written. */
export const jsonTextOf = (bytes: Uint8Array): JsonText => UTF8.decode(bytes);

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/**
 * One pass over text that may be no JSON at all; what it says then is not used. Linear: each character is looked at
 * once, the backslashes before a quote twice.
 */
function scan(text: string, maxDepth: number): { members: number; unsafeNumbers: boolean } | "too deep" {
  let depth = 0;
  let members = 0;
  let unsafeNumbers = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 /* " */) {
      at = endOfString(text, at);
    } else if (code === 0x3a /* : */) {
      members++;
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      if (++depth > maxDepth) return "too deep";
    } else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
      depth--;
    } else if (code >= 0x30 && code <= 0x39 /* 0-9 */) {
      const start = at;
      let exponent = false;
      for (let next = code; isNumberPart(next); next = text.charCodeAt(++at)) exponent ||= isExponent(next);
      // A short literal has no digits to lose, and without an exponent it is not too large.
      if ((exponent || at - start >= 16) && isUnsafe(text.slice(start, at))) unsafeNumbers = true;
      at--;
    }
  }
  return { members, unsafeNumbers };
}

/** The closing quote of the string that opens at `open`. `indexOf` crosses long strings far faster than a loop does. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close !== -1; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (text.charCodeAt(before) === 0x5c /* \\ */) before--;
    // An even number of backslashes escape each other, an odd one escapes the quote.
    if ((close - before) % 2 === 1) return close;
  }
  return text.length;
}

const isNumberPart = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  code === 0x2e /* . */ ||
  code === 0x2b /* + */ ||
  code === 0x2d /* - */ ||
  isExponent(code);

const isExponent = (code: number): boolean => (code | 0x20) === 0x65; /* e or E */

/** Too large for a double, or an integer part beyond 2^53 - 1 with more digits than a double keeps (RFC 8259 §6). */
function isUnsafe(literal: string): boolean {
  const value = Number(literal);
  if (value === Infinity) return true;
  return value > Number.MAX_SAFE_INTEGER && literal.replace(/e.*/i, "").replace(".", "").length >= 16;
}

/** Without recursion: the depth is the sender's choice. */
function countMembers(root: Json): number {
  let members = 0;
  const open: (readonly Json[] | JsonObject)[] = isContainer(root) ? [root] : [];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    let children = value as readonly Json[];
    if (!Array.isArray(value)) {
      children = Object.values(value);
      members += children.length;
    }
    for (const child of children) if (isContainer(child)) open.push(child);
  }
  return members;
}

const isContainer = (value: Json): value is readonly Json[] | JsonObject => typeof value === "object" && value !== null;
