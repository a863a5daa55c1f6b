import type { Exchange } from "../../json-rpc";
import type { Rank } from "../../service/carrier";
import type { TaskSnapshot } from "../../service/task-store";
import { notFound } from "../../task/errors";
import type { Phase } from "../../task/task";
import { reportProgress, speakTo } from "../report";
import type { Caller } from "./call";
import { asker, relatedTask } from "./questions";

export type CarryOptions = {
  readonly rank: Rank;
  readonly signal: AbortSignal;
  readonly onPhase?: (phase: Phase) => void;
  /** A question goes out here. */
  readonly onAsk?: () => void;
};

/**
 * Stays with a task on a stream, and sends its questions and progress there while this is the stream that carries them.
 * The task as it ended, or null once it asks what this client cannot be asked: another stream may carry that.
 */
export async function carryTask(
  caller: Caller,
  exchange: Exchange,
  id: string,
  { rank, signal, onPhase, onAsk }: CarryOptions,
): Promise<TaskSnapshot | null> {
  const { deps, principal } = caller;
  const begun = await deps.tasks.peek(principal, id);
  if (!begun) throw notFound();
  const { client, progress, stage } = begun;
  // The token of the call that made the task holds for all of its life, in the session that gave it. No value is told twice.
  const own = client.session?.key === caller.session.key;
  const token = own ? client.progressToken : undefined;
  const told = { after: progress?.progress, meta: relatedTask(id) };
  const onProgress = reportProgress(speakTo(exchange), token, told);
  const ask = asker(caller, exchange, { task: id, client, stray: rank === 1 && !own });
  const leaving = new AbortController();
  let carries = false;
  let { phase } = stage;
  try {
    return await deps.tasks.settle(principal, id, {
      signal: AbortSignal.any([signal, leaving.signal]),
      restAt: "settled",
      deliver: rank,
      onRelieved: () => (carries = false),
      onDeliver(questions) {
        carries = true;
        if (!ask(questions)) leaving.abort();
        else if (questions.length > 0) onAsk?.();
      },
      onEvent(entry) {
        if (carries && entry.progress) onProgress(entry.progress, entry.seq);
        if (entry.phase !== phase) onPhase?.(entry.phase);
        phase = entry.phase;
      },
    });
  } catch (thrown) {
    if (signal.aborted || !leaving.signal.aborted) throw thrown;
    return null;
  }
}
