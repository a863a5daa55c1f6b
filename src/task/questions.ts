import type { JsonText } from "./json";
import type { InputRequest, Question } from "./task";

export type AskedQuestion = {
  readonly authorKey: string;
  readonly occurrence: number;
  readonly request: InputRequest;
  /** Unix ms. */
  readonly deadline: number;
};

/** After this many unusable answers the question counts as answered with `cancel`. */
export const MAX_REFUSALS = 20;

const CANCEL: JsonText = '{"action":"cancel"}';

type Asked = { readonly questions: readonly Question[]; readonly keys: readonly string[] };

/** Adds what is not asked yet. `keys` are the wire keys of what was added. */
export function ask(questions: readonly Question[], asked: readonly AskedQuestion[], at: number): Asked {
  const next = [...questions];
  const keys: string[] = [];
  for (const question of asked) {
    if (standing(next, question.authorKey, question.occurrence)) continue;
    const key = freshKey(next, question.authorKey);
    next.push({ ...question, key, askedAt: at, state: { kind: "open" } });
    keys.push(key);
  }
  return { questions: next, keys };
}

/** The question that stands for the author's n-th use of a key: the one that was not retired. */
export const standing = (questions: readonly Question[], authorKey: string, occurrence: number): Question | undefined =>
  questions.find((q) => q.authorKey === authorKey && q.occurrence === occurrence && q.state.kind !== "retired");

/**
 * Takes in answers to open questions; all other keys are ignored. A refused one retires its key, and the question is
 * asked again under a new key: a client never answers a key twice, and fails when a key's request changes.
 */
export function answered(
  questions: readonly Question[],
  answers: Readonly<Record<string, JsonText>>,
  refused: Readonly<Record<string, string>>,
  at: number,
): Asked {
  let next: readonly Question[] = questions;
  const keys: string[] = [];
  for (const question of questions) {
    if (question.state.kind !== "open") continue;
    const { key } = question;
    if (Object.hasOwn(answers, key))
      next = replace(next, { ...question, state: { kind: "answered", at, answer: answers[key] as JsonText } });
    else if (Object.hasOwn(refused, key)) next = refuse(next, question, refused[key] as string, at);
    else continue;
    keys.push(key);
  }
  return { questions: next, keys };
}

/** Answers what is past its deadline with `cancel`. */
export function lapse(questions: readonly Question[], at: number): Asked {
  const late = questions.filter((question) => question.state.kind === "open" && question.deadline <= at);
  return answered(questions, Object.fromEntries(late.map((question) => [question.key, CANCEL])), {}, at);
}

function refuse(questions: readonly Question[], question: Question, reason: string, at: number): readonly Question[] {
  const asked = questions.filter((q) => q.authorKey === question.authorKey && q.occurrence === question.occurrence);
  if (asked.length > MAX_REFUSALS)
    return replace(questions, { ...question, state: { kind: "answered", at, answer: CANCEL } });
  const original = (asked[0] ?? question).request;
  const retired = replace(questions, { ...question, state: { kind: "retired", at, reason } });
  const key = freshKey(retired, question.authorKey);
  return [...retired, { ...question, key, request: explained(original, reason), askedAt: at, state: { kind: "open" } }];
}

/** The first wire key is the author's verbatim; later ones get a suffix. No key is used twice in a task's life. */
function freshKey(questions: readonly Question[], authorKey: string): string {
  const used = new Set(questions.map((question) => question.key));
  let key = authorKey;
  for (let n = 2; used.has(key); n += 1) key = `${authorKey}-${n}`;
  return key;
}

/** The same request, whose message says why it is made again. */
export function explained(request: InputRequest, reason: string): InputRequest {
  const message = request.params["message"];
  if (typeof message !== "string") return request;
  return {
    ...request,
    params: { ...request.params, message: `${message}\n\nThe last answer could not be used: ${reason}` },
  };
}

const replace = (questions: readonly Question[], changed: Question): readonly Question[] =>
  questions.map((question) => (question.key === changed.key ? changed : question));
