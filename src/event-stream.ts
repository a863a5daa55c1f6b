import type { Context } from "hono";
import { stream } from "hono/streaming";

/** One event of a stream; `retry` tells a client how long to wait before it comes back, in ms. */
export type StreamEvent = {
  readonly data: string;
  /** Its type, where it has one. */
  readonly event?: string;
  readonly id?: string;
  readonly retry?: number;
};

/** Messages on their way to one client, in order. */
export class SendQueue implements AsyncIterable<StreamEvent> {
  readonly #speak = Promise.withResolvers<void>();
  readonly #drop = Promise.withResolvers<void>();
  /** Resolves when the first message is in. */
  readonly spoken = this.#speak.promise;
  /** Resolves when nobody is to get anything any more. */
  readonly dropped = this.#drop.promise;
  readonly #messages: { readonly event: StreamEvent; readonly sent: () => void }[] = [];
  #closed = false;
  #wake = (): void => {};

  /** Resolves when the message has been handed to the stream, or never will be. */
  push(event: StreamEvent): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((sent) => {
      this.#messages.push({ event, sent });
      this.#speak.resolve();
      this.#wake();
    });
  }

  /** Goes ahead of all that waits, and is no reason to open a stream. */
  prime(event: StreamEvent): void {
    if (this.#closed) return;
    this.#messages.unshift({ event, sent: () => {} });
    this.#wake();
  }

  /** The last message, if any; what is pushed later is dropped. */
  end(event?: StreamEvent): void {
    if (event) void this.push(event);
    this.#closed = true;
    this.#wake();
  }

  /** Nothing more is sent, not even what waits. */
  drop(): void {
    this.#closed = true;
    for (const message of this.#messages.splice(0)) message.sent();
    this.#drop.resolve();
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) {
        yield message.event;
        message.sent();
      } else if (this.#closed) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

export type StreamOptions = {
  /** How often a quiet stream gets a comment, which is no event: clients never see it. */
  readonly keepAliveMs: number;
  /** When the client stopped reading. */
  readonly onGone: () => void;
};

/** An event stream of the messages. */
export function eventStream(c: Context, queue: SendQueue, { keepAliveMs, onGone }: StreamOptions): Response {
  const response = stream(c, async (out) => {
    out.onAbort(onGone);
    // Also frees a write that waits for a reader who is gone.
    void queue.dropped.then(() => out.abort());
    // Without a first byte some proxies hold the headers back.
    await out.write(": open\n\n");
    const beat = setInterval(() => void out.write(": keep-alive\n\n"), keepAliveMs);
    try {
      for await (const event of queue) await out.write(eventText(event));
    } finally {
      clearInterval(beat);
    }
  });
  response.headers.set("Content-Type", "text/event-stream");
  response.headers.set("Cache-Control", "no-cache, no-transform");
  response.headers.set("X-Accel-Buffering", "no");
  return response;
}

/** Each line of a field by itself: a line break in it begins no other field. */
function eventText({ event, data, id, retry }: StreamEvent): string {
  const fields = Object.entries({ event, data, id, retry }).filter(([, value]) => value !== undefined);
  const lines = fields.flatMap(([name, value]) =>
    String(value)
      .split(/\r\n?|\n/)
      .map((line) => `${name}: ${line}\n`),
  );
  return `${lines.join("")}\n`;
}

/** Ends the queue with its client, whose request's signal this is. `leave` is for who notices it otherwise. */
export function dropWhenGone(
  queue: SendQueue,
  signal: AbortSignal,
): { readonly gone: AbortController; readonly leave: () => void } {
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort(new DOMException("The client has left.", "AbortError"));
    queue.drop();
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  return { gone, leave };
}
