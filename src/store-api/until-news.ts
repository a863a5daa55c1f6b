import type { RecordEntry } from "../record/record";

/** Resolves when the feed brings something or ends, when that takes too long, or when nobody waits any longer. */
export async function untilNews(
  watch: (signal: AbortSignal) => Promise<AsyncIterable<RecordEntry> | null>,
  waitMs: number,
  left?: AbortSignal,
): Promise<void> {
  if (left?.aborted) return;
  const stop = new AbortController();
  const leave = (): void => stop.abort();
  const timer = setTimeout(leave, waitMs);
  left?.addEventListener("abort", leave, { once: true });
  try {
    for await (const _ of (await watch(stop.signal)) ?? []) return;
  } finally {
    clearTimeout(timer);
    left?.removeEventListener("abort", leave);
    stop.abort();
  }
}
