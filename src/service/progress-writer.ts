import type { Progress } from "../task/task";

/** Progress is written at most this often; the newest is never lost. */
const EVERY_MS = 250;

/** A line for people, written with every report. */
const MAX_MESSAGE_LENGTH = 1000;

/** Passes on the newest progress at a bounded rate. */
export class ProgressWriter {
  readonly #write: (progress: Progress) => void;
  #held: Progress | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writtenAt = -Infinity;

  constructor(write: (progress: Progress) => void) {
    this.#write = write;
  }

  report(progress: Progress): void {
    this.#held = plain(progress);
    if (this.#timer !== null) return;
    const wait = this.#writtenAt + EVERY_MS - Date.now();
    if (wait <= 0) this.flush();
    else this.#timer = setTimeout(() => this.flush(), wait);
  }

  /** Writes what is held back. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const progress = this.#held;
    this.#held = null;
    if (progress === null) return;
    this.#writtenAt = Date.now();
    this.#write(progress);
  }
}

/** Only what is known, and only what JSON can carry: it is stored with the task. */
function plain({ message, progress, total }: Progress): Progress {
  return {
    ...(typeof message === "string" ? { message: message.slice(0, MAX_MESSAGE_LENGTH) } : {}),
    ...(Number.isFinite(progress) ? { progress: Number(progress) } : {}),
    ...(Number.isFinite(total) ? { total: Number(total) } : {}),
  };
}
