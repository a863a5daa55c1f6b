import { isObject, type Json, type JsonObject, type JsonText } from "../task/json";
import type { InputRequest, Task } from "../task/task";
import { outstanding } from "../task/task";
import type { Checked } from "../tool/checked";
import { compileJsonSchema } from "../tool/json-schema";

/** The answers to open questions, split into usable and not. Keys that are not open are left out. */
export type SortedAnswers = { readonly answers: Record<string, JsonText>; readonly refused: Record<string, string> };

export function sortAnswers(task: Task, given: Readonly<Record<string, JsonText>>, limitBytes: number): SortedAnswers {
  // No prototype: a key may be any text, `__proto__` too.
  const sorted = { answers: Object.create(null), refused: Object.create(null) } as SortedAnswers;
  for (const { key, request } of outstanding(task)) {
    const text = Object.hasOwn(given, key) ? given[key] : undefined;
    if (text === undefined) continue;
    // A UTF-16 unit is at most three bytes, and what is stored must be so for sure.
    const checked = text.length * 3 > limitBytes ? tooLarge : checkAnswer(request, parse(text));
    if (checked.ok) sorted.answers[key] = JSON.stringify(checked.value);
    else sorted.refused[key] = checked.message;
  }
  return sorted;
}

const tooLarge = { ok: false, message: "it is larger than RESULT_LIMIT_BYTES allows." } as const;

/** Whether the answer fits the request (MCP elicitation §Response Actions); content counts only on `accept`. */
export function checkAnswer(request: InputRequest, answer: unknown): Checked<Json> {
  if (!isObject(answer)) return { ok: false, message: "the answer must be an object." };
  // A client may refuse a request of any kind; older revisions have it answer with an error then.
  if (answer["action"] === "cancel") return { ok: true, value: { action: "cancel" } };
  switch (request.method) {
    case "elicitation/create":
      return checkElicitation(request.params, answer);
    case "sampling/createMessage":
      return typeof answer["role"] === "string" && answer["content"] !== undefined
        ? { ok: true, value: answer }
        : { ok: false, message: "a sampling answer needs role and content." };
    case "roots/list":
      return Array.isArray(answer["roots"]) &&
        answer["roots"].every((root) => isObject(root) && typeof root["uri"] === "string")
        ? { ok: true, value: answer }
        : { ok: false, message: "a roots answer needs a list of roots, each with a uri." };
  }
}

function checkElicitation(params: JsonObject, answer: JsonObject): Checked<Json> {
  const { action } = answer;
  if (action === "decline") return { ok: true, value: { action } };
  if (action !== "accept") return { ok: false, message: "action must be accept, decline or cancel." };
  if (params["mode"] === "url") return { ok: true, value: { action } };
  const content = answer["content"] ?? {};
  if (!isObject(content)) return { ok: false, message: "content must be an object." };
  const schema = params["requestedSchema"];
  const checked = isObject(schema) ? compileJsonSchema(schema, "The form").check(content, "content") : null;
  return checked === null || checked.ok ? { ok: true, value: { action, content } } : checked;
}

function parse(text: JsonText): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
