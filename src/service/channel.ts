/** A queue between whoever pushes and one reader; the reader ends when it is closed and drained. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | null = null;
  #closed = false;

  push(item: T): void {
    if (this.#closed) return;
    this.#items.push(item);
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        while (this.#items.length > 0) yield this.#items.shift() as T;
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
  if (signal.aborted) channel.close();
  else signal.addEventListener("abort", () => channel.close(), { once: true });
}
