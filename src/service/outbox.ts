import type { Clock } from "../clock";
import { backOff } from "./back-off";
import { withTimeout } from "./with-timeout";

const TOUCH_WATCHED_MS = 1_000;
const TOUCH_UNWATCHED_MS = 15_000;

export type OutboxParts = {
  readonly clock: Clock;
  readonly random: () => number;
  /** Tells the index where the task stands now. */
  readonly send: () => Promise<{ readonly watched: boolean }>;
  /** A retry has become due: the alarm must know. */
  readonly retry: () => void;
};

/**
 * What a task still owes its owner's index. One message at a time and always the newest state, so versions never go
 * back; only what failed is tried again. What a crash drops, the sweep finds: the index's row is due then.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #owed = false;
  #sending: Promise<void> | null = null;
  #failures = 0;
  #retryAt: number | null = null;
  #watched = false;
  #touchedAt = -Infinity;
  #touchTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  owe(): void {
    this.#owed = true;
    this.#dropTouch();
  }

  owes(): boolean {
    return this.#owed || this.#sending !== null;
  }

  retryAt(): number | null {
    return this.#retryAt;
  }

  /** Somebody else carried the newest state to the index. */
  sent(): void {
    this.#owed = false;
    this.#failures = 0;
    this.#retryAt = null;
  }

  forget(): void {
    this.sent();
    this.#dropTouch();
  }

  /** What it would tell is older than what comes now. */
  #dropTouch(): void {
    if (this.#touchTimer !== null) clearTimeout(this.#touchTimer);
    this.#touchTimer = null;
  }

  /** Sends what is owed and waits for it; a failure is kept for later and never thrown. */
  async flush(): Promise<void> {
    while (this.#sending) await this.#sending;
    if (!this.#owed) return;
    this.#owed = false;
    this.#sending = this.#send();
    await this.#sending;
  }

  /** A change that no column shows, for listeners only: at most one a second, and rarely when nobody listens. */
  touch(send: () => Promise<{ readonly watched: boolean }>, keepAlive: (work: Promise<unknown>) => void): void {
    if (this.#touchTimer !== null) return;
    const wait = this.#touchedAt + (this.#watched ? TOUCH_WATCHED_MS : TOUCH_UNWATCHED_MS) - this.#parts.clock();
    this.#touchTimer = setTimeout(
      () => {
        this.#touchTimer = null;
        this.#touchedAt = this.#parts.clock();
        keepAlive(
          send().then(
            ({ watched }) => void (this.#watched = watched),
            () => {},
          ),
        );
      },
      Math.max(0, wait),
    );
  }

  async #send(): Promise<void> {
    try {
      this.#watched = (await withTimeout(this.#parts.send())).watched;
      this.#failures = 0;
      this.#retryAt = null;
    } catch {
      this.#owed = true;
      this.#failures += 1;
      this.#retryAt = this.#parts.clock() + backOff(1000 * 2 ** this.#failures, 300_000, this.#parts.random);
      this.#parts.retry();
    } finally {
      this.#sending = null;
    }
  }
}
