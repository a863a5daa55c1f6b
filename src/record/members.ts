import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";

/**
 * The members of a JSON object by key, each with the very text of its value: numbers that no runtime holds survive, and
 * a key is only a key, whatever it is called. Of a repeated key the last value counts. Linear, and without recursion.
 */
export function membersOf(text: JsonText): ReadonlyMap<string, JsonText> {
  if (!isJsonObject(text)) throw new TaskError("invalid", "That is not a JSON object.");
  // The platform's parser found it valid, so only brackets, quotes and commas are left to look at.
  const members = new Map<string, JsonText>();
  let at = skipSpace(text, 0) + 1;
  for (;;) {
    at = skipSpace(text, at);
    if (text.charCodeAt(at) === CLOSE_BRACE) return members;
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
    const keyEnd = endOfString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    members.set(JSON.parse(text.slice(at, keyEnd)) as string, text.slice(start, end));
    at = end;
  }
}

/** The items of a JSON list, each in the very text it has there. */
export function itemsOf(text: JsonText): readonly JsonText[] {
  if (!/^[ \t\r\n]*\[/.test(text) || !isJson(text)) throw new TaskError("invalid", "That is not a JSON list.");
  const items: JsonText[] = [];
  let at = skipSpace(text, 0) + 1;
  for (;;) {
    at = skipSpace(text, at);
    if (text.charCodeAt(at) === CLOSE_BRACKET) return items;
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = end;
  }
}

/** A JSON object of these members, in their order. */
export const objectOf = (members: ReadonlyMap<string, JsonText>): JsonText =>
  `{${Array.from(members, ([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;

/** Whether the text is JSON at all. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const isJsonObject = (text: string): boolean => /^[ \t\r\n]*\{/.test(text) && isJson(text);

const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

const isOpening = (code: number): boolean => code === 0x7b /* { */ || code === 0x5b; /* [ */

const isClosing = (code: number): boolean => code === CLOSE_BRACE || code === CLOSE_BRACKET;

function skipSpace(text: JsonText, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Behind the closing quote of the string that opens at `open`. */
function endOfString(text: JsonText, open: number): number {
  for (let close = text.indexOf('"', open + 1); ; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    // An even number of backslashes escape each other, an odd one escapes the quote.
    if ((close - before) % 2 === 1) return close + 1;
  }
}

/** Behind the value that begins at `start`. */
function endOfValue(text: JsonText, start: number): number {
  let depth = 0;
  for (let at = start; ;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (isOpening(code)) depth += 1;
    else if (isClosing(code) && depth > 0) depth -= 1;
    if (code !== QUOTE) at += 1;
    if (depth > 0) continue;
    if (code === QUOTE || isClosing(code)) return at;
    // A number or a name ends before what cannot be part of it.
    while (!isEnd(text.charCodeAt(at))) at += 1;
    return at;
  }
}

const isEnd = (code: number): boolean => code === COMMA || isClosing(code) || isSpace(code);
