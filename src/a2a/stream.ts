import type { Context } from "hono";
import { dropWhenGone, eventStream, SendQueue } from "../event-stream";
import type { Result } from "./ask";
import type { Explained } from "./errors";
import type { Binding } from "./serve";

/**
 * Proxies cut streams that are quiet for a minute or two. Nobody works for who watches, so that one has left need not be
 * noticed soon.
 */
const KEEP_ALIVE_MS = 15_000;

export type StreamAnswerOptions = {
  readonly binding: Binding;
  readonly explain: (thrown: unknown) => Explained;
  /** Do not wait for the first event: an error before it is an event too. Else such an error is thrown. */
  readonly atOnce: boolean;
};

/** An event stream of the results, to the last or until the client leaves. An error on the way is its last event. */
export async function streamAnswer(
  c: Context,
  begin: (signal: AbortSignal) => AsyncGenerator<Result, void>,
  { binding, explain, atOnce }: StreamAnswerOptions,
): Promise<Response> {
  const queue = new SendQueue();
  const { gone, leave } = dropWhenGone(queue, c.req.raw.signal);

  const events = begin(gone.signal);
  const follow = async (first?: IteratorResult<Result, void>): Promise<void> => {
    try {
      for (let next = first ?? (await events.next()); !next.done; next = await events.next()) {
        await queue.push({ data: binding.result(next.value) });
        if (gone.signal.aborted) break;
      }
      queue.end();
    } catch (thrown) {
      if (!gone.signal.aborted) queue.end({ event: "error", data: binding.error(explain(thrown)) });
    } finally {
      await events.return();
    }
  };
  if (atOnce) void follow();
  else void follow(await events.next());
  return eventStream(c, queue, { keepAliveMs: KEEP_ALIVE_MS, onGone: leave });
}
