import * as z from "zod/v4/core";
import { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import type { Checked, CompiledSchema } from "./checked";
import { counted, fieldName, listed, oneOf, quoted, typePhrase } from "./field-name";

/** By its mark, not by its class: a schema of `zod` and one of `zod/mini` both carry it. */
export const isZod = (schema: unknown): schema is z.$ZodType =>
  typeof schema === "object" && schema !== null && "_zod" in schema;

/** `side` is the side of its defaults and transforms a caller sees: what goes in for arguments, what comes out for results. */
export function compileZod(schema: z.$ZodType, side: "input" | "output", where: string): CompiledSchema {
  return { schema: toJsonSchema(schema, side, where), check: (value, root) => checkZod(schema, value, root) };
}

/** Parses, and explains the first issue. Messages the author gave in the schema are used as they are. */
export function checkZod<T>(schema: z.$ZodType<T>, value: unknown, root: string): Checked<T> {
  const ours = new Set<string>();
  const error = (issue: z.$ZodRawIssue): string => {
    const text = phrase(issue);
    ours.add(text);
    return text;
  };
  const parsed = z.safeParse(schema, value, { error });
  if (parsed.success) return { ok: true, value: parsed.data };
  const [issue] = parsed.error.issues;
  if (!issue) return { ok: false, message: `${root} is not valid.` };
  const field = fieldName(root, issue.path);
  return { ok: false, message: ours.has(issue.message) ? `${field} ${issue.message}.` : `${field}: ${issue.message}` };
}

/** Written by the schema itself: a deployment whose tools have plain JSON Schemas does not carry zod's writer. */
function toJsonSchema(schema: z.$ZodType, side: "input" | "output", where: string): JsonObject {
  const { jsonSchema } = schema["~standard"] as Partial<z.ZodStandardSchemaWithJSON<z.$ZodType>>;
  if (!jsonSchema) {
    throw new TaskError(
      "misconfigured",
      `${where}: a schema of zod/mini cannot write its JSON Schema; wrap it in withJsonSchema from src/tool/with-json-schema.ts, or write it with zod.`,
    );
  }
  try {
    return JSON.parse(JSON.stringify(jsonSchema[side]({ target: "draft-2020-12" }))) as JsonObject;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : "it has a type JSON does not have";
    throw new TaskError("misconfigured", `${where}: the zod schema cannot be written as JSON Schema: ${reason}.`);
  }
}

/** What comes after the field's name. zod's own sentences speak of "input" and "received"; a model needs the wish. */
function phrase(issue: z.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${typePhrase(String(issue.expected))}`;
    case "invalid_value":
      return `must be ${listed(issue.values as readonly unknown[])}`;
    case "too_small":
      return `must ${bound(issue.origin as string, issue.inclusive ? "at least" : "more than", issue.minimum)}`;
    case "too_big":
      return `must ${bound(issue.origin as string, issue.inclusive ? "at most" : "less than", issue.maximum)}`;
    case "invalid_format":
      return issue.format === "regex" ? `must match ${quoted(issue.pattern)}` : `must be a valid ${issue.format}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `does not know ${listed(issue.keys as readonly string[])}`;
    case "invalid_union":
      return alternatives(issue);
    case "invalid_key":
      return "is not an allowed name";
    default:
      return "is not valid";
  }
}

function bound(origin: string, comparison: string, limit: unknown): string {
  switch (origin) {
    case "string":
      return `be ${comparison} ${counted(limit, "character")} long`;
    case "array":
    case "set":
      return `have ${comparison} ${counted(limit, "item")}`;
    case "object":
    case "map":
      return `have ${comparison} ${counted(limit, "property", "properties")}`;
    default:
      return `be ${comparison} ${limit}`;
  }
}

function alternatives(issue: z.$ZodRawIssue): string {
  if (Array.isArray(issue["options"])) return `must be ${listed(issue["options"] as readonly unknown[])}`;
  const branches = (issue["errors"] ?? []) as readonly (readonly z.$ZodIssue[])[];
  const types = branches.map(([first]) =>
    first?.code === "invalid_type" && first.path.length === 0 ? String(first.expected) : null,
  );
  const plain = types.filter((type) => type !== null);
  const named = plain.length > 0 && plain.length === types.length;
  return named ? `must be ${oneOf([...new Set(plain)].map(typePhrase))}` : "must fit one of the allowed forms";
}
