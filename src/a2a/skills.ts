import type { Message } from "@a2a-js/sdk";
import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import type { RegisteredTool } from "../tool/registry";
import type { A2aDeps } from "./deps";
import { freeTextField } from "./free-text";
import { dataOf, textOf } from "./message-parts";

/** What a message asks for: which tool, and with what. */
export type Asked = {
  readonly tool: RegisteredTool;
  readonly arguments: JsonObject;
  /** They were written as data, by a client that knows the tool's schema, and not said in words. */
  readonly exact: boolean;
};

/**
 * Which tool a message means: the skill it names, in a data part `{ "skill", "arguments" }` or as `metadata.skillId`; else
 * the only one that takes plain text; else the only one there is. Throws `unknown_tool`, `invalid`.
 */
export async function askedOf({ tools }: A2aDeps, message: Message, metadata: JsonObject | undefined): Promise<Asked> {
  const data = dataOf(message);
  const apart = skillNamed(message.metadata?.["skillId"]) ?? skillNamed(metadata?.["skillId"]);
  const named = apart ?? skillNamed(data?.["skill"]);
  const tool = named === undefined ? impliedSkill(await tools.list()) : await tools.find(named);
  if (!tool) {
    throw new TaskError("unknown_tool", `There is no skill ${JSON.stringify(named?.slice(0, 128))} here.`);
  }
  const given = argumentsIn(data, apart !== undefined);
  const field = freeTextField(tool);
  const text = textOf(message);
  const spoken = field !== undefined && text !== "" && !Object.hasOwn(given ?? {}, field);
  return { tool, arguments: { ...given, ...(spoken ? { [field]: text } : {}) }, exact: given !== undefined };
}

function skillNamed(name: unknown): string | undefined {
  if (name === undefined || typeof name === "string") return name;
  throw new TaskError("invalid", "A skill is named by its id, a string.");
}

/** `{ skill, arguments }` names both; any other object is the arguments themselves. `apart`: the skill was named elsewhere. */
function argumentsIn(data: JsonObject | undefined, apart: boolean): JsonObject | undefined {
  if (data === undefined) return undefined;
  const { skill, arguments: args, ...others } = data;
  if (isObject(args) && Object.keys(others).length === 0) return args;
  if (apart || skill === undefined) return data;
  if (args === undefined) return others;
  throw new TaskError("invalid", '"arguments", beside "skill" in a data part, must be an object.');
}

function impliedSkill(tools: readonly RegisteredTool[]): RegisteredTool {
  const spoken = tools.filter((tool) => freeTextField(tool) !== undefined);
  const [only, ...more] = spoken.length > 0 ? spoken : tools;
  if (only && more.length === 0) return only;
  const names = tools.map(({ tool }) => tool.name);
  const some = names.length > 20 ? `${names.slice(0, 20).join(", ")}, …` : names.join(", ");
  const how = 'Name one in message.metadata.skillId, or in a data part { "skill": …, "arguments": { … } }.';
  throw new TaskError("invalid", `Which skill does the message mean? ${how} There are: ${some}.`);
}
