import { encodeBase64url } from "../../base64url";
import { ownerOf } from "../../service/principal";
import { TaskError } from "../../task/errors";
import { canonicalJson, isObject, type Json, type JsonObject, type JsonText } from "../../task/json";
import type { Call } from "./call";
import type { CallToolParams } from "./schemas";
import { toAnswers } from "./task-methods";

/** A person who takes longer answers a call that has to be begun again. */
const REQUEST_STATE_TTL_MS = 3_600_000;

const PURPOSE = "mrtr";

/** Who asked: the tool before a task exists, the tool in a plain call, or the task behind a held call. */
export type Asker = "prepare" | "run" | "task";

type Answers = Readonly<Record<string, JsonText>>;

/** The answers of a call that is repeated until nothing is left to ask (patterns MRTR), each with whoever asked. */
export type Rounds = { readonly [A in Asker]: Answers } & {
  /** The task that asked in the round before. */
  readonly taskId: string | null;
};

/**
 * This round's answers, and those of earlier ones that `requestState` brings back. Answers count without it too: it
 * saves the client from repeating them, and tells whose question an answer belongs to.
 */
export async function openRounds(call: Call, params: CallToolParams): Promise<Rounds> {
  const given = toAnswers(params.inputResponses ?? {});
  if (params.requestState === undefined) return { prepare: given, run: given, task: given, taskId: null };
  const state = await call.deps.sealer.open(PURPOSE, params.requestState, boundTo(call));
  if (state === null || state["digest"] !== (await digestOf(call, params))) {
    throw new TaskError(
      "invalid",
      "The requestState is not valid for this call, or has expired; make the call again without it.",
    );
  }
  const of = (asker: Asker): Answers => {
    // What an earlier round settled stays settled.
    const earlier = answersIn(state[asker]);
    return state["asker"] === asker ? { ...given, ...earlier } : earlier;
  };
  const { taskId } = state;
  return {
    prepare: of("prepare"),
    run: of("run"),
    task: of("task"),
    taskId: typeof taskId === "string" ? taskId : null,
  };
}

/** The state the client brings back: only for this caller, this call and this hour (MRTR §Server Requirements). */
export async function sealRounds(
  call: Call,
  params: CallToolParams,
  asker: Asker,
  answered: Partial<Rounds>,
): Promise<string> {
  const state: JsonObject = { digest: await digestOf(call, params), asker, ...(answered as JsonObject) };
  return call.deps.sealer.seal(PURPOSE, state, {
    principal: boundTo(call),
    expiresAt: call.deps.clock() + REQUEST_STATE_TTL_MS,
  });
}

const boundTo = ({ principal }: Call): string => ownerOf(principal) ?? "anonymous";

async function digestOf({ method }: Call, params: CallToolParams): Promise<string> {
  const text = canonicalJson([method, params.name, params.arguments ?? {}]);
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Sealed by us, but perhaps by an earlier version of this code. */
function answersIn(value: Json | undefined): Answers {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
