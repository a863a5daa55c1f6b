const MINUTE_MS = 60_000;

/** Counts what happens within a clock minute, in memory. */
export class MinuteCount {
  #minute = 0;
  #count = 0;

  /** Null when one more may be, else how long (ms) until the next minute. */
  take(now: number, most: number): number | null {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) this.#count = 0;
    this.#minute = minute;
    if (this.#count >= most) return (minute + 1) * MINUTE_MS - now;
    this.#count += 1;
    return null;
  }
}
