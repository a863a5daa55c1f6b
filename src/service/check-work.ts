// What workers ask, found usable or refused with a sentence that says why.
import { TaskError } from "../task/errors";
import type { InputRequest } from "../task/task";
import { toInputRequest } from "../tool/asks";
import type { Ask } from "../tool/context";

const MOST_QUESTIONS = 100;
const LONGEST_KEY = 200;

/** Checked as a tool's own: one malformed question would spoil the whole task for a strict client. */
export function checkQuestions(
  questions: Readonly<Record<string, InputRequest>>,
): Readonly<Record<string, InputRequest>> {
  const asked = Object.entries(questions);
  const isKey = ([{ length }]: readonly [string, InputRequest]): boolean => length > 0 && length <= LONGEST_KEY;
  if (asked.length === 0 || asked.length > MOST_QUESTIONS || !asked.every(isKey)) {
    throw new TaskError(
      "invalid",
      `One ask is 1 to ${MOST_QUESTIONS} questions, each under a key of 1 to ${LONGEST_KEY} characters.`,
    );
  }
  // fromEntries defines its properties: a key may be `__proto__`.
  return Object.fromEntries(asked.map(([key, request]) => [key, toInputRequest(key, askOf(request))]));
}

function askOf({ method, params }: InputRequest): Ask {
  switch (method) {
    case "elicitation/create": {
      const { mode, message, requestedSchema, url } = params;
      return mode === "url"
        ? { kind: "url", message: message as string, url: url as string }
        : { kind: "form", message: message as string, schema: (requestedSchema ?? {}) as Record<string, never> };
    }
    case "sampling/createMessage":
      return { kind: "sampling", params };
    case "roots/list":
      return { kind: "roots" };
  }
}
