import { isObject } from "../task/json";
import type { OutputUnit, Schema } from "@cfworker/json-schema";
import { counted, fieldName, listed, oneOf, quoted, typePhrase } from "./field-name";

type Path = readonly (string | number)[];
type Lookup = Readonly<Record<string, Schema | boolean>>;

/** Keywords that only say "something inside is wrong"; what it is comes right after them. */
const WRAPPERS = [
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
  "items",
  "additionalItems",
  "prefixItems",
  "unevaluatedItems",
  "allOf",
  "if",
  "dependentSchemas",
  "dependencies",
  "$ref",
];

/** One sentence about the first field that does not fit, which a model can act on. */
export function explain(
  errors: readonly OutputUnit[],
  schema: Schema,
  lookup: Lookup,
  value: unknown,
  root: string,
): string {
  const index = errors.findIndex(({ keyword }) => !WRAPPERS.includes(keyword));
  const error = errors[index];
  if (!error) return `${root} does not fit the schema.`;
  const path = pathOf(error.instanceLocation, value);
  const field = fieldName(root, path);

  // The library's schema location of a `false` schema is the value's, so the keyword it stands under comes from before.
  if (error.keyword === "false") return `${field} is not allowed${knownNames(errors[index - 1], schema, lookup)}.`;

  const steps = error.keywordLocation.split("/").slice(1).map(decode);
  const owner = schemaAt(schema, lookup, steps.slice(0, -1));
  const at = valueAt(value, path);
  const missing = missingName(error.keyword, owner, isObject(at) ? at : {});
  if (missing) return `${fieldName(root, [...path, missing.name])} is required${missing.because}.`;
  return `${field} ${phrase(error.keyword, owner)}.`;
}

function phrase(keyword: string, owner: Readonly<Record<string, unknown>>): string {
  const wanted = owner[keyword];
  switch (keyword) {
    case "type":
      return `must be ${oneOf([wanted].flat().map((type) => typePhrase(String(type))))}`;
    case "const":
      return `must be ${quoted(wanted)}`;
    case "enum":
      return `must be one of ${listed([wanted].flat())}`;
    case "anyOf":
    case "oneOf":
      return alternatives(keyword, [wanted].flat());
    case "not":
      return "has a value that is not allowed";
    case "minProperties":
      return `must have at least ${counted(wanted, "property", "properties")}`;
    case "maxProperties":
      return `must have at most ${counted(wanted, "property", "properties")}`;
    case "propertyNames":
      return "has a property name that is not allowed";
    case "contains":
    case "minContains":
    case "maxContains":
      return "has too few or too many items of the kind it must contain";
    case "minItems":
      return `must have at least ${counted(wanted, "item")}`;
    case "maxItems":
      return `must have at most ${counted(wanted, "item")}`;
    case "uniqueItems":
      return "must not have the same item twice";
    case "minimum":
      return `must be at least ${wanted}`;
    case "maximum":
      return `must be at most ${wanted}`;
    case "exclusiveMinimum":
      return `must be greater than ${wanted}`;
    case "exclusiveMaximum":
      return `must be less than ${wanted}`;
    case "multipleOf":
      return `must be a multiple of ${wanted}`;
    case "minLength":
      return `must be at least ${counted(wanted, "character")} long`;
    case "maxLength":
      return `must be at most ${counted(wanted, "character")} long`;
    case "pattern":
      return `must match the pattern ${quoted(wanted)}`;
    case "format":
      return wanted === "date-time"
        ? "must be an ISO 8601 date and time with `Z` or an offset, e.g. 2030-01-31T09:00:00+01:00"
        : `must be a valid ${wanted}`;
    default:
      return "does not fit the schema";
  }
}

/** Alternatives that differ by type alone are named; of others only the reader of the schema can say more. */
function alternatives(keyword: "anyOf" | "oneOf", branches: readonly unknown[]): string {
  const types = branches.map((branch) =>
    isObject(branch) && typeof branch["type"] === "string" ? branch["type"] : null,
  );
  const plain = types.filter((type) => type !== null);
  if (plain.length === branches.length && new Set(plain).size === plain.length) {
    return `must be ${oneOf(plain.map(typePhrase))} that fits the schema`;
  }
  return keyword === "anyOf"
    ? "must fit one of the schema's alternatives"
    : "must fit exactly one of the schema's alternatives";
}

function missingName(
  keyword: string,
  owner: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly because: string } | null {
  const absent = (names: unknown): string | undefined =>
    ([names].flat() as string[]).find((name) => !Object.hasOwn(value, name));
  if (keyword === "required") {
    const name = absent(owner["required"]);
    return name === undefined ? null : { name, because: "" };
  }
  if (keyword !== "dependentRequired") return null;
  for (const [given, names] of Object.entries(owner["dependentRequired"] ?? {})) {
    const name = Object.hasOwn(value, given) ? absent(names) : undefined;
    if (name !== undefined) return { name, because: ` when ${quoted(given)} is given` };
  }
  return null;
}

/** For a property nobody expects: what would have been expected in its place. */
function knownNames(wrapper: OutputUnit | undefined, schema: Schema, lookup: Lookup): string {
  if (wrapper?.keyword !== "additionalProperties" && wrapper?.keyword !== "unevaluatedProperties") return "";
  const steps = wrapper.keywordLocation.split("/").slice(1, -1).map(decode);
  const { properties } = schemaAt(schema, lookup, steps);
  const names = isObject(properties) ? Object.keys(properties) : [];
  return names.length === 0 ? "" : `; known here: ${listed(names)}`;
}

function schemaAt(schema: Schema, lookup: Lookup, steps: readonly string[]): Readonly<Record<string, unknown>> {
  const found = steps.reduce<unknown>((at, step) => {
    if (typeof at !== "object" || at === null) return undefined;
    const target = step === "$ref" ? (at as Schema).__absolute_ref__ : undefined;
    return target === undefined ? (at as Record<string, unknown>)[step] : lookup[target];
  }, schema);
  return isObject(found) ? found : {};
}

function pathOf(location: string, value: unknown): Path {
  const path: (string | number)[] = [];
  let at = value;
  for (const step of location.split("/").slice(1).map(decode)) {
    const part = Array.isArray(at) ? Number(step) : step;
    path.push(part);
    at = valueAt(at, [part]);
  }
  return path;
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, part) => (typeof at === "object" && at !== null ? (at as Record<string | number, unknown>)[part] : undefined),
    value,
  );

const decode = (step: string): string => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
