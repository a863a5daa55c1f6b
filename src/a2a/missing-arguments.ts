import type { AskedQuestion } from "../task/questions";
import { isObject, type Json, type JsonObject } from "../task/json";
import { ARGUMENTS_KEY } from "../task/task";
import type { RegisteredTool } from "../tool/registry";

/** What a form may hold (MCP 2026-07-28 elicitation §Requested Schema): flat, and of these kinds. */
const ASKABLE = ["string", "number", "integer", "boolean"];
/** The members of a property's schema that a form may have. */
const MEMBERS = [
  "type",
  "title",
  "description",
  "enum",
  "default",
  "format",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
];

/**
 * The question for what a message in words did not say; null when nothing is missing, or something that no form can ask
 * for. `deadline` is Unix ms.
 */
export function missingArguments(
  { tool, inputSchema }: RegisteredTool,
  given: JsonObject,
  deadline: number,
): AskedQuestion | null {
  const { required, properties } = inputSchema;
  if (!Array.isArray(required) || !isObject(properties)) return null;
  const missing = required.filter((name): name is string => typeof name === "string" && !Object.hasOwn(given, name));
  const fields = missing.map((name) => [name, properties[name]] as const);
  if (fields.length === 0 || !fields.every(([, schema]) => isAskable(schema))) return null;
  const asked = fields.map(([name, schema]) => [name, formField(schema as JsonObject)] as const);
  return {
    authorKey: ARGUMENTS_KEY,
    occurrence: 1,
    request: {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: `"${tool.title ?? tool.name}" needs to know more: ${missing.join(", ")}.`,
        requestedSchema: { type: "object", properties: Object.fromEntries(asked), required: missing },
      },
    },
    deadline,
  };
}

const isAskable = (schema: unknown): boolean =>
  isObject(schema) && typeof schema["type"] === "string" && ASKABLE.includes(schema["type"]);

const formField = (schema: JsonObject): JsonObject =>
  Object.fromEntries(
    MEMBERS.flatMap((member) => (Object.hasOwn(schema, member) ? [[member, schema[member] as Json]] : [])),
  );
