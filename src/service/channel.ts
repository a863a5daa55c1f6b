import { whenAborted } from "./when-aborted";

/** A queue between whoever pushes and one reader; the reader ends when it is closed and drained. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | null = null;
  #closed = false;
  #failure: { readonly reason: unknown } | undefined;

  push(item: T): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.#wake?.();
  }

  /** Its reader fails with the reason, if there is one, once it has read what was pushed before. */
  close(failure?: { readonly reason: unknown }): void {
    if (!this.#closed) this.#failure = failure;
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        while (this.#items.length > 0) yield this.#items.shift() as T;
        if (this.#failure) throw this.#failure.reason;
        if (this.#closed) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = null;
      }
    } finally {
      this.#closed = true;
    }
  }
}

/** Closes the channel when the signal aborts. */
export function closeOnAbort(channel: Channel<unknown>, signal: AbortSignal): void {
  whenAborted(signal, () => channel.close());
}
