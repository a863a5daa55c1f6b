import type { Exchange, RequestId } from "../../json-rpc";
import type { OpenQuestion } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { Json, JsonText } from "../../task/json";
import { canBeAsked } from "../../tool/asks";
import { boundTo, type Caller } from "./call";

const PURPOSE = "question";
/** Longer than anybody waits; whether a question is still open its task knows. */
const QUESTION_ID_TTL_MS = 2_592_000_000;

export const CANCEL: JsonText = '{"action":"cancel"}';

/** Who asks: a task, or a call that is no task. */
export type Asker = { readonly task: string } | { readonly call: string };

/**
 * Sends questions as requests to the client. Their JSON-RPC ids say whose they are and to which key the answer belongs,
 * so nothing is stored for them, and a question that is sent again has a new id. Never rejects.
 */
export async function askClient(
  caller: Caller,
  exchange: Exchange,
  asker: Asker,
  questions: readonly OpenQuestion[],
): Promise<void> {
  const { sealer, clock, log } = caller.deps;
  const [name, from, related] =
    "task" in asker
      ? [asker.task, { t: asker.task }, { _meta: relatedTask(asker.task) }]
      : [asker.call, { c: asker.call }, {}];
  try {
    for (const { key, request } of questions) {
      const bound = { principal: boundTo(caller), expiresAt: clock() + QUESTION_ID_TTL_MS };
      const id = await sealer.seal(PURPOSE, { ...from, k: key }, bound);
      const params = caller.revision.toInputParams(request, `${name}.${key}`);
      void exchange.request(id, request.method, JSON.stringify({ ...params, ...related }));
    }
  } catch (thrown) {
    log?.({ level: "error", message: "A question could not be sent.", error: String(thrown) });
  }
}

/** A response to one of the server's requests. What fits no open question is dropped: the first answer has won. */
export async function takeResponse(caller: Caller, id: RequestId | undefined, result: Json | undefined): Promise<void> {
  const { deps, principal, session } = caller;
  const asked = typeof id === "string" ? await deps.sealer.open(PURPOSE, id, boundTo(caller)) : null;
  if (asked === null) return;
  const { t: task, c: call, k: key } = asked;
  if (typeof key !== "string") return;
  // A client that answers with an error will not answer otherwise.
  const answer = result === undefined ? CANCEL : JSON.stringify(result);
  if (typeof call === "string") await deps.sessions.answer(session, call, key, answer);
  if (typeof task !== "string") return;
  try {
    await deps.tasks.answer(principal, task, { [key]: answer });
  } catch (thrown) {
    if (!(thrown instanceof TaskError && thrown.code === "not_found")) throw thrown;
  }
}

/** Whether these may go to this client: only what it declared is asked of it. */
export const mayAsk = ({ session }: Caller, questions: readonly OpenQuestion[]): boolean =>
  canBeAsked(
    session.capabilities,
    questions.map(({ request }) => request),
  );

/** All messages about a task carry it (2025-11-25 tasks §Associating Task-Related Messages). */
export const relatedTask = (taskId: string) => ({ "io.modelcontextprotocol/related-task": { taskId } });
