import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";

/**
 * The members of a JSON object by key, each with the very text of its value: numbers that no runtime holds survive, and
 * a key is only a key, whatever it is called. Of a repeated key the last value counts.
 */
export function membersOf(text: JsonText): ReadonlyMap<string, JsonText> {
  if (!isJsonObject(text)) throw new TaskError("invalid", "That is not a JSON object.");
  const pieces = piecesOf(text);
  const members = new Map<string, JsonText>();
  for (let at = 0; at + 1 < pieces.length; at += 2)
    members.set(JSON.parse(pieces[at] ?? "") as string, pieces[at + 1] ?? "");
  return members;
}

/** The items of a JSON list, each in the very text it has there. */
export function itemsOf(text: JsonText): readonly JsonText[] {
  if (!/^[ \t\r\n]*\[/.test(text) || !isJson(text)) throw new TaskError("invalid", "That is not a JSON list.");
  return piecesOf(text).filter((item) => item !== "");
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

/** What stands between the commas, and the colons, of an object or a list that is valid. Linear, and without recursion. */
function piecesOf(text: JsonText): readonly JsonText[] {
  const pieces: JsonText[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = endOfString(text, at);
    if (character === "{" || character === "[") depth += 1;
    if (depth === 1 && "{[,:]}".includes(character)) {
      if (start > 0) pieces.push(text.slice(start, at).trim());
      start = at + 1;
    }
    if (character === "}" || character === "]") depth -= 1;
  }
  return pieces;
}

/** The closing quote of the string that opens at `open`. */
function endOfString(text: JsonText, open: number): number {
  for (let close = text.indexOf('"', open + 1); ; close = text.indexOf('"', close + 1)) {
    let before = close - 1;
    while (text.charAt(before) === "\\") before -= 1;
    // An even number of backslashes escape each other, an odd one escapes the quote.
    if ((close - before) % 2 === 1) return close;
  }
}
