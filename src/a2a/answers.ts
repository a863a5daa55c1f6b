import type { Message } from "@a2a-js/sdk";
import { checkAnswer } from "../service/check-answer";
import type { OpenQuestion } from "../service/task-store";
import { isObject, type Json, type JsonObject, type JsonText } from "../task/json";
import type { Checked } from "../tool/checked";
import { dataIn, textOf } from "./message-parts";

type Answers = Readonly<Record<string, JsonText>>;

/**
 * What a message answers: by key, in a data part `{ "inputResponses": { key: { action, content } } }`; or the only open
 * question, in a data part with its fields or in words. A message that answers nothing comes back as what would.
 */
export function answersIn(message: Message, open: readonly OpenQuestion[]): Checked<Answers> {
  const first = dataIn(message).find(isObject);
  const responses = first?.["inputResponses"];
  if (isObject(responses)) return checkedAll(responses, open);
  const [question, ...more] = open;
  if (!question || more.length > 0) return no(`${open.length} questions are open.`, open);
  const answer = first ? inData(first, question) : inWords(textOf(message), question);
  if (answer === null) return no("This does not answer the question.", open);
  return checkedAll({ [question.key]: answer }, open);
}

/** Keys that are not open are left out; a response of no use is not sent on, so that its question stays as it is. */
function checkedAll(responses: JsonObject, open: readonly OpenQuestion[]): Checked<Answers> {
  const usable: [string, JsonText][] = [];
  for (const { key, request } of open) {
    if (!Object.hasOwn(responses, key)) continue;
    const checked = checkAnswer(request, responses[key]);
    if (!checked.ok) return no(`The response to "${key}" cannot be used: ${checked.message}`, open);
    usable.push([key, JSON.stringify(checked.value)]);
  }
  return usable.length > 0 ? { ok: true, value: Object.fromEntries(usable) } : no("None of the keys is open.", open);
}

/** `{ action, content }` as such; any other object is the content of a form. */
function inData(data: JsonObject, { request }: OpenQuestion): Json {
  if (request.method !== "elicitation/create" || typeof data["action"] === "string") return data;
  return { action: "accept", content: data };
}

function inWords(text: string, { request }: OpenQuestion): Json | null {
  switch (request.method) {
    case "sampling/createMessage":
      return text === "" ? null : { role: "assistant", content: { type: "text", text }, model: "unknown" };
    case "roots/list":
      return null;
    case "elicitation/create": {
      if (request.params["mode"] === "url") return { action: REFUSALS.includes(plain(text)) ? "decline" : "accept" };
      const schema = request.params["requestedSchema"];
      const properties = isObject(schema) && isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
      if (properties.length === 0) return { action: "accept", content: {} };
      // Who answers in words leaves out what may be left out.
      const needed = isObject(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
      const [only, ...more] =
        properties.length === 1 ? properties : properties.filter(([name]) => needed.includes(name));
      const value = only && more.length === 0 && isObject(only[1]) ? said(text.trim(), only[1]) : undefined;
      return only === undefined || value === undefined ? null : { action: "accept", content: { [only[0]]: value } };
    }
  }
}

const YES = ["true", "yes", "y", "ok"];
const NO = ["false", "no", "n"];
const REFUSALS = [...NO, "decline", "declined", "cancel", "stop"];

const plain = (text: string): string => text.trim().toLowerCase().replace(/[.!]$/, "");

/** A value of the field's type, as people write it; undefined when the text is none. */
function said(text: string, { type, enum: values }: JsonObject): Json | undefined {
  switch (type) {
    case "number":
    case "integer":
      return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    case "boolean":
      if (YES.includes(plain(text))) return true;
      return NO.includes(plain(text)) ? false : undefined;
    case "string":
      if (!Array.isArray(values)) return text;
      return values.find((value) => String(value).toLowerCase() === text.toLowerCase()) ?? text;
    default:
      return undefined;
  }
}

/** What is wrong, and what would be right. */
const no = (message: string, open: readonly OpenQuestion[]): Checked<never> => ({
  ok: false,
  message: `${message} Send a data part { "inputResponses": { ${open.map(({ key }) => `${JSON.stringify(key)}: { "action": "accept", "content": { … } }`).join(", ")} } }.`,
});
