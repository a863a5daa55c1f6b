import type { Message } from "@a2a-js/sdk";
import { checkAnswer } from "../service/check-answer";
import type { OpenQuestion } from "../service/task-store";
import { isObject, type Json, type JsonObject, type JsonText } from "../task/json";
import type { Checked } from "../tool/checked";
import { textOf } from "./message-parts";

type Answers = Readonly<Record<string, JsonText>>;

/**
 * What a message answers: by key, in a data part `{ "inputResponses": { key: { action, content } } }`; or the only open
 * question, in a data part with its fields or in words. A message that answers nothing comes back as what would.
 */
export function answersIn(message: Message, open: readonly OpenQuestion[]): Checked<Answers> {
  const data = message.parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value as unknown] : []));
  const [first] = data.filter(isObject);
  const responses = first?.["inputResponses"];
  if (isObject(responses)) return byKey(responses, open);
  const [question, ...more] = open;
  if (!question || more.length > 0) return no(`${open.length} questions are open. ${how(open)}`);
  const { key, request } = question;
  const answer = first ? inData(first, question) : inWords(textOf(message), question);
  if (answer === null) return no(`This does not answer the question. ${how(open)}`);
  const checked = checkAnswer(request, answer);
  return checked.ok ? yes({ [key]: checked.value }) : no(`This cannot be used: ${checked.message} ${how(open)}`);
}

/** Keys that are not open are left out; a response of no use is not sent on, so that its question stays as it is. */
function byKey(responses: JsonObject, open: readonly OpenQuestion[]): Checked<Answers> {
  const usable: [string, Json][] = [];
  for (const { key, request } of open) {
    const given = Object.hasOwn(responses, key) ? responses[key] : undefined;
    if (given === undefined) continue;
    const checked = checkAnswer(request, given);
    if (!checked.ok) return no(`The response to "${key}" cannot be used: ${checked.message}`);
    usable.push([key, checked.value]);
  }
  return usable.length > 0 ? yes(Object.fromEntries(usable)) : no(`None of the keys is open. ${how(open)}`);
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

const how = (open: readonly OpenQuestion[]): string =>
  `Send a data part { "inputResponses": { ${open.map(({ key }) => `${JSON.stringify(key)}: { "action": "accept", "content": { … } }`).join(", ")} } }.`;

const no = (message: string): Checked<never> => ({ ok: false, message });

const yes = (answers: Readonly<Record<string, Json>>): Checked<Answers> => ({
  ok: true,
  value: Object.fromEntries(Object.entries(answers).map(([key, answer]) => [key, JSON.stringify(answer)])),
});
