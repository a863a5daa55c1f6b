import type { Clock } from "../clock";
import { LONGEST_TIMER_MS } from "../service/suspension";

/**
 * What a stream tells, until its client leaves or the instant comes (Unix ms; null for none), when it ends in good order.
 * Where one source fails, the others end too.
 */
export async function telling(
  client: AbortSignal,
  { endsAt, clock }: { readonly endsAt: number | null; readonly clock: Clock },
  tell: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const ending = new AbortController();
  // No stream lasts the 24 days that a timer can hold.
  const leftMs = Math.min((endsAt ?? Infinity) - clock(), LONGEST_TIMER_MS);
  const timer = setTimeout(() => ending.abort(), leftMs);
  try {
    await tell(AbortSignal.any([client, ending.signal]));
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}
