import { whenAborted } from "./when-aborted";

/** What a feed brings for so long, while somebody waits for it; the feed is let go of whichever way that ends. */
export async function* whileWaiting<T>(
  watch: (signal: AbortSignal) => AsyncIterable<T> | Promise<AsyncIterable<T> | null>,
  waitMs: number,
  left?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  if (left?.aborted) return;
  const stop = new AbortController();
  const leave = (): void => stop.abort();
  const timer = setTimeout(leave, waitMs);
  const forget = left && whenAborted(left, leave);
  try {
    for await (const item of (await watch(stop.signal)) ?? []) {
      if (stop.signal.aborted) return;
      yield item;
    }
  } finally {
    clearTimeout(timer);
    forget?.();
    leave();
  }
}
