import { TaskError } from "../task/errors";

/**
 * The streams open at one name, in this isolate: each of them polls, so this bounds what a caller can make us read. What
 * other isolates hold open for the same name is not counted.
 */
export class Streams {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** A place until the signal aborts; throws `limit_reached`. */
  occupy(name: string, signal: AbortSignal): void {
    const open = this.#open.get(name) ?? 0;
    if (open >= this.#most) {
      const limit = "MAX_STREAMS_PER_OWNER";
      throw new TaskError("limit_reached", `${limit} (${this.#most}) streams are open; close one first.`, {
        limit,
        value: this.#most,
        retryAfterMs: 5_000,
      });
    }
    if (signal.aborted) return;
    this.#open.set(name, open + 1);
    signal.addEventListener("abort", () => this.#leave(name), { once: true });
  }

  #leave(name: string): void {
    const left = (this.#open.get(name) ?? 1) - 1;
    if (left === 0) this.#open.delete(name);
    else this.#open.set(name, left);
  }
}
