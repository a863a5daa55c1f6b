import type { Clock } from "../clock";

/** How many times faster than advertised a client may poll for ever, once its free polls are used up. */
const TOLERANCE = 10;

/**
 * A token bucket in the task's memory: `burst` polls are free, then ten for each advertised interval. Who keeps the
 * interval never meets it; when the object goes, so does the count, and nobody is the worse for it.
 */
export class PollBucket {
  readonly #clock: Clock;
  readonly #burst: number;
  #tokens: number;
  #countedAt: number;

  constructor(clock: Clock, burst: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#tokens = burst;
    this.#countedAt = clock();
  }

  /** Null when the poll may be answered, else how long (ms) to wait. */
  take(pollIntervalMs: number): number | null {
    const now = this.#clock();
    const perMs = TOLERANCE / pollIntervalMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#countedAt) * perMs);
    this.#countedAt = now;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / perMs - 1e-6);
    this.#tokens -= 1;
    return null;
  }
}
