// Requests that began as good ones. All chance comes from one seed, so that a run can be had again.
import { mulberry32 } from "../../src/kit/random";

export type Random = {
  /** In [0, 1). */
  readonly next: () => number;
  /** 0 to n - 1. */
  readonly below: (n: number) => number;
  readonly of: <T>(all: readonly T[]) => T;
  readonly chance: (p: number) => boolean;
};

export function randomFrom(seed: number): Random {
  const next = mulberry32(seed);
  const below = (n: number): number => Math.floor(next() * n);
  return { next, below, of: (all) => all[below(all.length)] as (typeof all)[number], chance: (p) => next() < p };
}

// What JSON holds; a mutation may put anything anywhere.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;

/** A request before it is written down. `body` is JSON's value, and null where there is none. */
export type Draft = {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: Any;
};
type Header = readonly [name: string, value: string];

/** As it is sent. */
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array<ArrayBuffer> | null;
};

const NUMBERS = [0, -1, 0.5, 1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2 ** 53, -(2 ** 63), 1e21, 1e300, -1e300, 5e-324];
const WORDS = [
  "",
  " ",
  "null",
  "a b",
  "é",
  "\u0000",
  "\u2028",
  "\ud83d\ude00",
  "constructor",
  "toString",
  "__proto__",
  "..",
  "*",
];
const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
  "toJSON",
  "length",
  "",
  "0",
  "_meta",
];
/** Written into the text, for what `JSON.stringify` would not write. */
const LITERALS = [
  "1e400",
  "-1e400",
  "-0",
  "-0.0",
  "1E-400",
  "9007199254740993",
  "123456789012345678901234567890",
  '"\\ud800"',
  '"\\udfff\\u0000"',
  "01",
  "+1",
  "NaN",
  "Infinity",
  "undefined",
  "'a'",
  "tru",
  "[,]",
];
const METHODS = ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"];
const PATHS = [
  "/",
  "/mcp/",
  "/mcp/x",
  "//mcp",
  "/MCP",
  "/mcp?a=1",
  "/mcp%2f",
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/__proto__",
  "/store",
  "/store/v1",
  "/store/v1/",
  "/store/v1/openapi.json",
  "/store/v1/__proto__",
  "/store/v1//tools",
  "/STORE/v1/tools",
  "/store/v1/namespaces/default/records/",
  "/store/v1/namespaces//records/x",
  "/a2a",
  "/a2a/",
  "/A2A",
  "/a2a//",
  "/a2a/v1/message:send",
  "/a2a/message:send/",
  "/a2a/tasks/%3Acancel",
  "/a2a/__proto__",
  "/.well-known/agent-card.json",
  "/.well-known/agent-card.json?A2A-Version=0.3",
  "/.well-known/oauth-protected-resource/a2a",
];
/** Segments of a path as they are sent, and whole ones that are more than a segment. */
const SEGMENTS = [
  "",
  ".",
  "%2e",
  "%2e%2e",
  "..%2f..",
  "%2F",
  "%5C",
  "%00",
  "%0A",
  "%25",
  "%252F",
  "%2",
  "%",
  "%zz",
  "%ff",
  "%c0%ae",
  "%ed%a0%80",
  "%F0%9F%98%80",
  "é",
  "a+b",
  "a%20b",
  ":id",
  "*",
  "__proto__",
  "constructor",
  "x".repeat(512),
  "x".repeat(513),
  "x".repeat(9_000),
  "records/records",
  "tasks",
  "x:cancel",
  ":subscribe",
  "pushNotificationConfigs",
];
/** The names that the store API or A2A reads in a query, and what may stand there. Waits stay short. */
const QUERY: Readonly<Record<string, readonly string[]>> = {
  owner: ["", "a", "%00", "%ff", "%ed%a0%80", "null", "[]", "x".repeat(1_025), "%F0%9F%98%80"],
  unowned: ["true", "false", "", "1"],
  any: ["true", "TRUE", "", "1"],
  status: ["working", "completed", "done", "", "__proto__"],
  limit: ["1", "0", "-1", "1e2", "100000", "9007199254740993", "0x1", " 1", "01", ""],
  cursor: ["", "W10", "WzEsImEiXQ", "WzFlMzA4LCJhIl0", "e30", "%00", "WzEsIlx1ZDgwMCJd", "A".repeat(5_000)],
  after: ["0", "1", "-1", "1e9", "99999999999999999999", "9007199254740991", "9999999999999999", "a", ""],
  waitMs: ["0", "1", "20", "-1", "1e1", "30001", "99999999999999999999", ""],
  contextId: ["", "c", "%00", "x".repeat(257), "null"],
  pageSize: ["1", "0", "101", "1e2", "01", "-1", "9007199254740993", ""],
  pageToken: ["", "W10", "AAAA", "%ff", "A".repeat(5_000)],
  historyLength: ["0", "1", "-1", "1.5", "99999999999", ""],
  includeArtifacts: ["true", "false", "1", "TRUE", ""],
  statusTimestampAfter: ["2026-01-01T00:00:00Z", "2026-01-01", "0", "%2B275760-09-13T00:00:00.001Z", ""],
  "A2A-Version": ["1.0", "0.3", "1.0.1", "2.0", "", "x".repeat(1_000)],
  space: ["null"],
  __proto__: ["1"],
};
const TYPES = [
  "text/plain",
  "application/json; charset=utf-16",
  "application/x-www-form-urlencoded",
  "application/jsonx",
  "",
  "multipart/form-data; boundary=x",
  "APPLICATION/JSON;charset=UTF-8",
];
const VALUES = [
  "",
  "*/*",
  "0",
  "x, y",
  "=?base64?AA==?=",
  "=?base64?/w==?=",
  "1900-01-01",
  "2026-07-28",
  "2025-11-25",
  "2025-03-26",
  "9999-99-99",
  "null",
  "http://evil.example",
  "a".repeat(9_000),
  "0.1",
  "\t",
  "*",
  '"1"',
  'W/"1"',
  '"0"',
  '"1", "2"',
  '""',
  '"99999999999999999999"',
  "text/event-stream",
  "1.0",
  "0.3",
  "1.0.1",
  "https://holdfast.dev/a2a/input-requests/v1, urn:x",
];
const NAMES = [
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "mcp-session-id",
  "last-event-id",
  "idempotency-key",
  "accept",
  "authorization",
  "origin",
  "content-type",
  "mcp-param-region",
  "content-length",
  "traceparent",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "a2a-version",
  "a2a-extensions",
];

const encoder = new TextEncoder();

/** `known` are values that mean something to the server: ids, tokens, names. */
export function mutated(draft: Draft, random: Random, known: readonly string[]): Sent {
  const count = random.chance(0.08) ? 0 : 1 + random.below(3);
  let { method, path } = draft;
  const headers: Header[] = [...draft.headers];
  let { body } = draft;
  const onText: ((text: string) => string)[] = [];
  const onBytes: ((bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>)[] = [];
  for (let n = 0; n < count; n += 1) {
    const what = random.next();
    if (what < 0.15 && varies(path)) path = changedPath(path, random, known);
    else if (what < 0.5 && body !== null) body = changed(structuredClone(body), random, known);
    else if (what < 0.62 && body !== null) onText.push((text) => respelled(text, random));
    else if (what < 0.67 && body !== null) onBytes.push((bytes) => recoded(bytes, random));
    else if (what < 0.95) changeHeader(headers, random, known);
    else if (what < 0.975) method = random.of(METHODS);
    else if (varies(path) && random.chance(0.7)) path = changedPath(path, random, known);
    else path = random.of(PATHS);
  }
  const withBody = body !== null && method !== "GET" && method !== "HEAD";
  const text = withBody ? onText.reduce((before, change) => change(before), JSON.stringify(body) ?? "") : "";
  const written = Uint8Array.from(encoder.encode(text));
  const bytes = onBytes.reduce((before, change) => change(before), written);
  return { method, path, headers, body: withBody ? bytes : null };
}

const varies = (path: string): boolean => /^\/(store|a2a)\//.test(path);

/** One change of a path with parts that vary, or of its query. */
function changedPath(path: string, random: Random, known: readonly string[]): string {
  const [way = "", query = ""] = path.split("?");
  if (random.chance(0.4)) {
    const asked = query === "" ? [] : query.split("&");
    const name = random.of(Object.keys(QUERY));
    const value = random.chance(0.3) && name !== "waitMs" ? encoded(random.of(known)) : random.of(QUERY[name] ?? [""]);
    const pair = random.chance(0.1)
      ? name
      : `${random.chance(0.1) ? `%${name.charCodeAt(0).toString(16)}${name.slice(1)}` : name}=${value}`;
    const at = random.below(asked.length + 1);
    asked.splice(at, random.below(2), pair);
    return `${way}?${asked.join("&")}`;
  }
  const segments = way.split("/");
  // Behind `/store/v1`, or `/a2a`.
  const first = path.startsWith("/store/") ? 3 : 2;
  const at = first + random.below(Math.max(1, segments.length - first));
  const what = random.below(8);
  if (what === 0) segments.splice(at, 1);
  else if (what === 1) segments.splice(at, 0, random.of(SEGMENTS));
  else if (what < 4) segments[at] = random.of(SEGMENTS);
  else if (what < 6) segments[at] = encoded(random.of(known));
  else segments[at] = encoded(damaged(random.of(known), random));
  return segments.join("/") + (query === "" ? "" : `?${query}`);
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

type Spot = { readonly parent: Any; readonly key: string | number };

function spotsOf(value: Any, spots: Spot[] = []): Spot[] {
  if (typeof value !== "object" || value === null) return spots;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    spots.push({ parent: value, key });
    spotsOf(value[key], spots);
  }
  return spots;
}

/** One change of the value itself. */
function changed(body: Any, random: Random, known: readonly string[]): Any {
  const spots = spotsOf(body);
  if (spots.length === 0 || random.chance(0.02)) return anything(random, known);
  const { parent, key } = random.of(spots);
  const what = random.below(10);
  if (what < 6) put(parent, key, anything(random, known));
  else if (what === 6) delete parent[key];
  else if (what === 7) put(parent, random.of(KEYS), random.chance(0.5) ? parent[key] : anything(random, known));
  else if (what === 8) put(parent, key, random.chance(0.5) ? [parent[key]] : { [random.of(KEYS)]: parent[key] });
  else return random.chance(0.5) ? [body] : Array.from({ length: 1 + random.below(4) }, () => structuredClone(body));
  return body;
}

/** A member, also where assigning would set the prototype. */
const put = (parent: Any, key: string | number, value: Any): void =>
  void (Array.isArray(parent) && typeof key === "string"
    ? parent.push(value)
    : Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true }));

function anything(random: Random, known: readonly string[]): Any {
  switch (random.below(9)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.of(NUMBERS);
    case 3:
      return random.of(WORDS);
    case 4:
      return damaged(random.of(known), random);
    case 5:
      return random.chance(0.9) ? [random.of(WORDS), random.of(NUMBERS)] : wide(random);
    case 6:
      return random.chance(0.9) ? { [random.of(KEYS)]: random.of(WORDS) } : deep(random);
    default:
      return random.of(known);
  }
}

const wide = (random: Random): Any =>
  random.chance(0.5)
    ? Array.from({ length: 2_000 }, (_, n) => n)
    : Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n]));

function deep(random: Random): Any {
  let value: Any = 1;
  for (let n = 55 + random.below(20); n > 0; n -= 1) value = random.chance(0.5) ? [value] : { a: value };
  return value;
}

function damaged(text: string, random: Random): string {
  if (text === "") return "A";
  const at = random.below(text.length);
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return `${text.slice(0, at)}${random.of(["A", "-", "_", "=", ".", "\u0000", "é"])}${text.slice(at + 1)}`;
    case 2:
      return text + random.of(["=", "A", " ", ".1", "\n"]);
    case 3:
      return text.toUpperCase();
    default:
      return text + text;
  }
}

/** One change of how the value is written. */
function respelled(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.replace(/"(\w+)":/, (member) => `${member}${random.of(LITERALS)},${member}`);
    case 2:
      return text.replace(/:("[^"]*"|\d+|true|false|null)/g, (member) =>
        random.chance(0.15) ? `:${random.of(LITERALS)}` : member,
      );
    case 3:
      return (
        text.slice(0, at) + random.of(["\u0000", "\ufeff", "}", "]", '"', "\\", ",", "\u2028", "/**/"]) + text.slice(at)
      );
    case 4:
      return random.of(["\ufeff", " \r\n\t", "\ufeff\ufeff", ""]) + text + random.of(["", "\n", text, "]", "\u0000"]);
    default: {
      const depth = random.of([10, 63, 64, 65, 20_000]);
      return "[".repeat(depth) + text + "]".repeat(depth);
    }
  }
}

function recoded(bytes: Uint8Array<ArrayBuffer>, random: Random): Uint8Array<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const invalid = random.of([
    [0xff],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0x80],
    [0xe2, 0x28, 0xa1],
    [0xff, 0xfe],
  ]);
  if (random.chance(0.2))
    return Uint8Array.from(bytes.length === 0 ? [0xff, 0xfe] : [...bytes].flatMap((byte) => [byte, 0]));
  return Uint8Array.from([...bytes.subarray(0, at), ...invalid, ...bytes.subarray(at)]);
}

function changeHeader(headers: Header[], random: Random, known: readonly string[]): void {
  const at = random.below(headers.length + 1);
  const [name] = headers[at] ?? [random.of(NAMES)];
  const value = random.chance(0.4)
    ? random.of(VALUES)
    : random.chance(0.3)
      ? damaged(random.of(known), random)
      : random.of(known);
  const type = name.toLowerCase() === "content-type" && random.chance(0.8);
  const header: Header = [name, ascii(type ? random.of(TYPES) : value)];
  const what = random.below(4);
  if (what === 0) headers.splice(at, 1);
  else if (what === 1) headers.push(header);
  else if (what === 2) headers.push([random.of(NAMES), header[1]]);
  else headers.splice(at, 1, header);
}

/** What a header can carry at all: the platform refuses the rest before any server sees it. */
const ascii = (value: string): string => value.replace(/[^\t\x20-\x7e]/g, "?");
