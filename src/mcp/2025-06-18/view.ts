import type { JsonObject } from "../../task/json";
import type { InputRequest } from "../../task/task";
import type { ListedTool } from "../legacy/revision";

/** Output schemas are of objects until 2026-07-28 (schema, Tool). */
export const toTool = ({ name, title, description, inputSchema, outputSchema, annotations }: ListedTool) => ({
  name,
  title,
  description,
  inputSchema,
  outputSchema: outputSchema?.["type"] === "object" ? outputSchema : undefined,
  annotations,
});

/** A form is the one mode of elicitation, so it is not named (schema, ElicitRequest). */
export function toInputParams({ params }: InputRequest): JsonObject {
  const { mode: _, ...rest } = params;
  return rest;
}
