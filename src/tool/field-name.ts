const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
const LONGEST_NAME = 80;
const LONGEST_LIST = 300;

/** `arguments`, ["items", 3, "first name"] → `arguments.items[3]["first name"]`. Names come from callers: bounded. */
export function fieldName(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    const text = String(part);
    return IDENTIFIER.test(text) && text.length <= LONGEST_NAME ? `${name}.${text}` : `${name}[${quoted(text)}]`;
  }, root);
}

/** A value as JSON, short enough for a sentence. */
export function quoted(value: unknown): string {
  const text = typeof value === "bigint" ? value.toString() : (JSON.stringify(value) ?? String(value));
  return text.length <= LONGEST_NAME ? text : `${text.slice(0, LONGEST_NAME)}…`;
}

/** `"a", "b" or "c"`; a list too long for a sentence ends in `…`. */
export function listed(values: readonly unknown[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const value of values) {
    const text = quoted(value);
    length += text.length + 2;
    if (length > LONGEST_LIST) return `${shown.join(", ")}, …`;
    shown.push(text);
  }
  return oneOf(shown);
}

/** `a string`, `a number` → `a string or a number`. */
export function oneOf(phrases: readonly string[]): string {
  const last = phrases.at(-1) ?? "nothing";
  return phrases.length < 2 ? last : `${phrases.slice(0, -1).join(", ")} or ${last}`;
}

/** `1 item`, `2 items`. */
export const counted = (count: unknown, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A JSON type's name with its article. */
export function typePhrase(type: string): string {
  switch (type) {
    case "null":
    case "undefined":
      return type;
    case "int":
      return "an integer";
    case "record":
    case "map":
      return "an object";
    default:
      return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
  }
}
