import { isObject, type Json } from "../task/json";

/** One schema inside another, and how it is reached. */
export type Subschema = {
  readonly schema: Json;
  /** Keywords and names from the root, e.g. ["properties", "city"]. */
  readonly path: readonly string[];
  /** The names passed through while every step was a `properties` entry; null once any other keyword was passed. */
  readonly properties: readonly string[] | null;
};

/** Keywords whose value is one schema, a list of schemas, or schemas by name. */
const ONE = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const MANY = ["prefixItems", "items", "allOf", "anyOf", "oneOf"];
const NAMED = ["$defs", "definitions", "properties", "patternProperties", "dependentSchemas"];

/**
 * The schema and every schema in it, the outermost first. Walks by keyword, so that a property called `$ref` and
 * data under `default` or `enum` are not taken for schemas.
 */
export function* subschemas(root: Json): Generator<Subschema, void, void> {
  yield* walk({ schema: root, path: [], properties: [] });
}

function* walk(at: Subschema): Generator<Subschema, void, void> {
  yield at;
  if (!isObject(at.schema)) return;
  const inside = (schema: Json, ...steps: string[]): Subschema => ({
    schema,
    path: [...at.path, ...steps],
    properties: null,
  });
  for (const [keyword, value] of Object.entries(at.schema)) {
    if (ONE.includes(keyword) && !Array.isArray(value)) yield* walk(inside(value, keyword));
    if (MANY.includes(keyword) && Array.isArray(value)) {
      for (const [index, entry] of (value as readonly Json[]).entries()) {
        yield* walk(inside(entry, keyword, String(index)));
      }
    }
    if (NAMED.includes(keyword) && isObject(value)) {
      for (const [name, entry] of Object.entries(value)) {
        const properties = keyword === "properties" && at.properties !== null ? [...at.properties, name] : null;
        yield* walk({ ...inside(entry, keyword, name), properties });
      }
    }
  }
}
