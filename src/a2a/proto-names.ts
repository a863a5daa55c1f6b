import { isObject, type Json, type JsonObject } from "../task/json";

/** What the caller made up itself. */
const OWN: readonly string[] = ["metadata", "data"];

const PROTO_NAME = /^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)+$/;

/**
 * The fields by their names in JSON: a parser of ProtoJSON takes those of the proto file too (`task_id` for `taskId`).
 * Given both ways, the JSON name counts.
 */
export function jsonNames(params: JsonObject): JsonObject {
  const named = Object.entries(params).map(([name, value]) => {
    const jsonName = PROTO_NAME.test(name) ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : name;
    const read = OWN.includes(name) ? value : jsonNamesIn(value);
    return jsonName !== name && Object.hasOwn(params, jsonName) ? [name, read] : [jsonName, read];
  });
  return Object.fromEntries(named) as JsonObject;
}

const jsonNamesIn = (value: Json): Json =>
  Array.isArray(value) ? value.map(jsonNamesIn) : isObject(value) ? jsonNames(value) : value;
