import type { Exchange, RequestId } from "../../json-rpc";
import type { OpenQuestion } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { Json, JsonText } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import { canBeAsked } from "../../tool/asks";
import { boundTo, type Caller } from "./call";

const PURPOSE = "question";
/** Longer than anybody waits; whether a question is still open its task knows. */
const QUESTION_ID_TTL_MS = 2_592_000_000;

export const CANCEL: JsonText = '{"action":"cancel"}';

/**
 * Who asks: a task, or a call that is no task. `client` are the facts of the task's maker where they are known already;
 * `stray`: it goes out unbidden, to a session that did not make the task.
 */
export type Asker =
  | { readonly task: string; readonly client?: ClientFacts; readonly stray?: boolean }
  | { readonly call: string };

/**
 * Sends questions as requests to the client, each once on one stream. Their JSON-RPC ids say whose they are and to which
 * key the answer belongs, so nothing is stored for them, and a question that goes out again on another stream has a new
 * id. False, and nothing is sent, where the client did not declare that it can be asked so.
 */
export function asker(
  caller: Caller,
  exchange: Exchange,
  from: Asker,
): (questions: readonly OpenQuestion[]) => boolean {
  const sent = new Set<string>();
  let last = Promise.resolve();
  return (questions) => {
    // A server that was restarted meanwhile tells of all that is open.
    const fresh = questions.filter(({ key }) => !sent.has(key));
    const requests = fresh.map(({ request }) => request);
    if (!canBeAsked(caller.session.capabilities, requests)) return false;
    for (const { key } of fresh) sent.add(key);
    last = last
      .then(() => send(caller, exchange, from, fresh))
      .catch((thrown: unknown) => {
        caller.deps.log?.({ level: "error", message: "A question could not be sent.", error: String(thrown) });
      });
    return true;
  };
}

async function send(
  caller: Caller,
  exchange: Exchange,
  from: Asker,
  questions: readonly OpenQuestion[],
): Promise<void> {
  if (questions.length === 0) return;
  const { sealer, tasks } = caller.deps;
  const [name, facts] =
    "task" in from ? [from.task, { t: from.task, ...(from.stray && { s: 1 }) }] : [from.call, { c: from.call }];
  const client = "task" in from ? (from.client ?? (await tasks.peek(caller.principal, name))?.client) : undefined;
  // Libraries refuse what names a task that their client was never given: one that it takes for a plain call.
  const related = client && !client.bridged ? { _meta: relatedTask(name) } : {};
  for (const { key, request } of questions) {
    const id = await sealer.seal(PURPOSE, { ...facts, k: key }, boundTo(caller), QUESTION_ID_TTL_MS);
    const params = caller.revision.toInputParams(request, `${name}.${key}`);
    void exchange.request(id, request.method, JSON.stringify({ ...params, ...related }));
  }
}

/** A response to one of the server's requests. What fits no open question is dropped: the first answer has won. */
export async function takeResponse(caller: Caller, id: RequestId | undefined, result: Json | undefined): Promise<void> {
  const { deps, principal, session } = caller;
  const asked = typeof id === "string" ? await deps.sealer.open(PURPOSE, id, boundTo(caller)) : null;
  if (asked === null) return;
  const { t: task, c: call, k: key, s: stray } = asked;
  if (typeof key !== "string") return;
  // A client that answers with an error will not answer otherwise; unless it may not know the task, and another will.
  if (result === undefined && stray !== undefined) return;
  const answer = result === undefined ? CANCEL : JSON.stringify(result);
  if (typeof call === "string") await deps.sessions.answer(session, call, key, answer);
  if (typeof task !== "string") return;
  try {
    await deps.tasks.answer(principal, task, { [key]: answer });
  } catch (thrown) {
    if (!(thrown instanceof TaskError && thrown.code === "not_found")) throw thrown;
  }
}

/** All messages about a task carry it (2025-11-25 tasks §Associating Task-Related Messages). */
export const relatedTask = (taskId: string) => ({ "io.modelcontextprotocol/related-task": { taskId } });
