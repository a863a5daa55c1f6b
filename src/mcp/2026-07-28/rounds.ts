import { encodeBase64url } from "../../base64url";
import { holderOf } from "../../service/principal";
import { TaskError } from "../../task/errors";
import { canonicalJson, type JsonObject, type JsonText } from "../../task/json";
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
  const state = await call.deps.sealer.open(PURPOSE, params.requestState, holderOf(call.principal));
  if (state === null || state["digest"] !== (await digestOf(call, params))) {
    throw new TaskError(
      "invalid",
      "The requestState is not valid for this call, or has expired; make the call again without it.",
    );
  }
  const of = (asker: Asker): Answers => {
    // What an earlier round settled stays settled.
    const earlier = (state[asker] ?? {}) as Answers;
    return state["asker"] === asker ? { ...given, ...earlier } : earlier;
  };
  const taskId = (state["taskId"] ?? null) as string | null;
  return { prepare: of("prepare"), run: of("run"), task: of("task"), taskId };
}

/** The state the client brings back: only for this caller, this call and this hour (MRTR §Server Requirements). */
export async function sealRounds(
  call: Call,
  params: CallToolParams,
  asker: Asker,
  answered: Partial<Rounds>,
): Promise<string> {
  const state: JsonObject = { digest: await digestOf(call, params), asker, ...(answered as JsonObject) };
  return call.deps.sealer.seal(PURPOSE, state, holderOf(call.principal), REQUEST_STATE_TTL_MS);
}

async function digestOf({ method }: Call, params: CallToolParams): Promise<string> {
  const text = canonicalJson([method, params.name, params.arguments ?? {}]);
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
