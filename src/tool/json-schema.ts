import { dereference, Validator, type Schema } from "@cfworker/json-schema";
import { TaskError } from "../task/errors";
import { isObject, type Json, type JsonObject } from "../task/json";
import type { Checked, CompiledSchema } from "./checked";
import { explain } from "./json-schema-message";
import { quoted } from "./field-name";
import { subschemas } from "./subschemas";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

// MCP 2026-07-28 base §Composition-Keyword Resource Use: depth, number and cost of subschemas are bounded. Schemas come
// from the deployer, so these guard against accidents; the comparison of `uniqueItems` is what a caller could exploit.
const MAX_DEPTH = 64;
const MAX_SUBSCHEMAS = 5000;
const MAX_EXPANSION = 1000;
const MAX_UNIQUE_ITEMS = 1000;

const TYPES: readonly Json[] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/** Keywords the validator does not follow: they would be passed over in silence, and let anything through. */
const UNSUPPORTED = ["$dynamicRef", "$recursiveRef"];

/**
 * Checks a JSON Schema (draft 2020-12) once and makes its validator. Nothing is fetched: a `$ref` must stay inside the
 * document (MCP 2026-07-28 base §$ref Resolution). `where` names the schema in the error, e.g. `Tool "slow": input`.
 */
export function compileJsonSchema(schema: JsonObject, where: string): CompiledSchema {
  const fault = (problem: string): TaskError => new TaskError("misconfigured", `${where}: ${problem}.`);
  const own = jsonCopy(schema, fault) as Schema;
  lint(own as JsonObject, fault);
  boundUniqueItems(own as JsonObject);
  const lookup = resolve(own, fault);
  checkExpansion(lookup, fault);
  const validator = new Validator(own, "2020-12");
  return {
    schema: jsonCopy(schema, fault),
    check: (value, root) => check(validator, own, lookup, value, root),
  };
}

type Fault = (problem: string) => TaskError;
type Lookup = Readonly<Record<string, Schema | boolean>>;

function check(validator: Validator, schema: Schema, lookup: Lookup, value: unknown, root: string): Checked<unknown> {
  try {
    const { valid, errors } = validator.validate(value);
    return valid ? { ok: true, value } : { ok: false, message: explain(errors, schema, lookup, value, root) };
  } catch (thrown) {
    // The validator writes property names as URI fragments, which an unpaired surrogate cannot be.
    if (thrown instanceof URIError) {
      return { ok: false, message: `${root} has a property whose name is not valid Unicode.` };
    }
    return { ok: false, message: `${root} could not be checked against the schema; it may be nested too deeply.` };
  }
}

/** The validator marks what it is given, so it gets a copy; a declaration may hold `undefined`, which JSON leaves out. */
function jsonCopy(schema: JsonObject, fault: Fault): JsonObject {
  try {
    return JSON.parse(JSON.stringify(schema)) as JsonObject;
  } catch {
    throw fault("the schema is not JSON");
  }
}

function lint(root: JsonObject, fault: Fault): void {
  let count = 0;
  for (const { schema, path } of subschemas(root)) {
    count += 1;
    if (count > MAX_SUBSCHEMAS) throw fault(`the schema has more than ${MAX_SUBSCHEMAS} subschemas`);
    if (path.length > MAX_DEPTH) throw fault(`the schema is nested more than ${MAX_DEPTH} levels deep`);
    const at = path.length === 0 ? "the root" : quoted(path.join("/"));
    if (typeof schema === "boolean") continue;
    if (!isObject(schema)) throw fault(`${at} must be a schema: an object, true or false`);
    lintOne(schema, at, fault);
  }
}

function lintOne(schema: JsonObject, at: string, fault: Fault): void {
  const dialect = schema["$schema"];
  if (dialect !== undefined && dialect !== DIALECT && dialect !== `${DIALECT}#`) {
    throw fault(`the dialect ${quoted(dialect)} at ${at} is not supported; leave out $schema or use "${DIALECT}"`);
  }
  for (const keyword of UNSUPPORTED) {
    if (Object.hasOwn(schema, keyword)) throw fault(`${keyword} at ${at} is not supported; use $ref and $anchor`);
  }
  const ref = schema["$ref"];
  if (ref !== undefined && typeof ref !== "string") throw fault(`the $ref at ${at} must be text`);
  const types = schema["type"] === undefined ? [] : [schema["type"]].flat();
  for (const type of types) {
    if (!TYPES.includes(type as Json)) throw fault(`${quoted(type)} at ${at} is not a JSON type`);
  }

  const patterns = isObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
  if (typeof schema["pattern"] === "string") patterns.push(schema["pattern"]);
  for (const pattern of patterns) {
    if (!isPattern(pattern)) throw fault(`the pattern ${quoted(pattern)} at ${at} is not a regular expression`);
  }
}

/** Every pair of items is compared: where the author set no bound, one request could hold the isolate for minutes. */
function boundUniqueItems(root: JsonObject): void {
  for (const { schema } of subschemas(root)) {
    if (isObject(schema) && schema["uniqueItems"] === true) {
      Object.assign(schema, { maxItems: schema["maxItems"] ?? MAX_UNIQUE_ITEMS });
    }
  }
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

function resolve(schema: Schema, fault: Fault): Lookup {
  let lookup: Lookup;
  try {
    lookup = dereference(schema);
  } catch {
    throw fault("two subschemas have the same $id or $anchor, or one of them is not a URI");
  }
  for (const entry of Object.values(lookup)) {
    if (typeof entry === "boolean" || entry.$ref === undefined) continue;
    if (lookup[entry.__absolute_ref__ ?? ""] !== undefined) continue;
    throw fault(
      entry.$ref.startsWith("#")
        ? `the $ref ${quoted(entry.$ref)} points at nothing`
        : `the $ref ${quoted(entry.$ref)} leads outside the schema; nothing is fetched, so put its target under $defs`,
    );
  }
  return lookup;
}

/** A `$ref` that leads back to itself without going down into the value would never end; others may explode. */
function checkExpansion(lookup: Lookup, fault: Fault): void {
  const known = new Map<Schema, number>();
  const visiting = new Set<Schema>();

  const cost = (schema: Schema | boolean | undefined): number => {
    if (schema === undefined || typeof schema === "boolean") return 1;
    const before = known.get(schema);
    if (before !== undefined) return before;
    if (visiting.has(schema)) throw fault(`the $ref ${quoted(schema.$ref ?? "#")} leads back to itself`);
    visiting.add(schema);
    const total = inPlace(schema, lookup).reduce((sum, next) => sum + cost(next), 1);
    visiting.delete(schema);
    if (total > MAX_EXPANSION) throw fault(`one value would be checked against more than ${MAX_EXPANSION} subschemas`);
    known.set(schema, total);
    return total;
  };
  for (const schema of Object.values(lookup)) cost(schema);
}

/** The subschemas that apply to the same value as the schema itself. */
function inPlace(schema: Schema, lookup: Lookup): readonly (Schema | boolean | undefined)[] {
  const { allOf = [], anyOf = [], oneOf = [], not, then, dependentSchemas = {}, $ref } = schema;
  const branches = [not, schema.if, then, schema.else].filter((branch) => branch !== undefined);
  const target = $ref === undefined ? [] : [lookup[schema.__absolute_ref__ ?? ""]];
  return [...allOf, ...anyOf, ...oneOf, ...branches, ...Object.values(dependentSchemas), ...target];
}
