import type { Progress } from "../task/task";

/** Progress is written at most this often; the newest is never lost. */
const EVERY_MS = 250;

/** A line for people, written with every report. */
const MAX_MESSAGE_LENGTH = 1000;

/** Passes on the newest progress at a bounded rate, and no faster than it can be written. */
export class ProgressWriter {
  readonly #write: (progress: Progress) => unknown;
  #held: Progress | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writtenAt = -Infinity;
  /** Writes on their way, where writing takes time. */
  #writing = 0;
  #written: Promise<unknown> = Promise.resolve();

  /** Where `write` gives a promise, the next report waits for it. */
  constructor(write: (progress: Progress) => unknown) {
    this.#write = write;
  }

  report(progress: Progress): void {
    this.#held = plain(progress);
    this.#schedule();
  }

  /** Writes what is held back. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const progress = this.#held;
    this.#held = null;
    if (progress === null) return;
    this.#writtenAt = Date.now();
    const written = this.#write(progress);
    if (written instanceof Promise) this.#await(written);
  }

  /** Resolves when what was written so far is stored, or has failed. */
  async settled(): Promise<void> {
    await this.#written;
  }

  #schedule(): void {
    if (this.#timer !== null || this.#writing > 0) return;
    const wait = this.#writtenAt + EVERY_MS - Date.now();
    if (wait <= 0) this.flush();
    else this.#timer = setTimeout(() => this.flush(), wait);
  }

  #await(written: Promise<unknown>): void {
    this.#writing += 1;
    this.#written = written
      .catch(() => {})
      .then(() => {
        this.#writing -= 1;
        if (this.#held !== null) this.#schedule();
      });
  }
}

/** Only what is known, and only what JSON can carry: it is stored with the task. */
export function plain({ message, progress, total }: Progress): Progress {
  return {
    ...(typeof message === "string" ? { message: message.slice(0, MAX_MESSAGE_LENGTH) } : {}),
    ...(Number.isFinite(progress) ? { progress: Number(progress) } : {}),
    ...(Number.isFinite(total) ? { total: Number(total) } : {}),
  };
}
