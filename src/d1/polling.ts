const SHORTEST_MS = 250;
const LONGEST_MS = 2_000;

/** When to look again: often while something happens, and seldom while nothing does. */
export class Polling {
  readonly #signal: AbortSignal;
  #wait = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Something was found, so more may follow. */
  found(): void {
    this.#wait = 0;
  }

  /** False when the signal has aborted: nobody looks any more. The first look is at once. */
  async next(): Promise<boolean> {
    await pause(this.#wait, this.#signal);
    this.#wait = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, this.#wait * 1.5));
    return !this.#signal.aborted;
  }
}

/** Resolves early when the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || ms === 0) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
