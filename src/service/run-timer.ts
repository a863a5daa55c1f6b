/** Calls `over` when a run takes too long. */
export class RunTimer {
  readonly #over: () => void;
  readonly #betweenSteps: number;
  #steps = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #stopped = false;

  /** `betweenSteps`: ms for what is no step that is timed by itself, before the first, between two, after the last. */
  constructor(over: () => void, betweenSteps: number) {
    this.#over = over;
    this.#betweenSteps = betweenSteps;
    this.#resume();
  }

  /** While a step goes on, only its own time counts. */
  async during<T>(ms: number, step: () => Promise<T>): Promise<T> {
    const timer = setTimeout(this.#over, ms);
    this.#steps += 1;
    if (this.#timer) clearTimeout(this.#timer);
    try {
      return await step();
    } finally {
      clearTimeout(timer);
      this.#steps -= 1;
      if (this.#steps === 0) this.#resume();
    }
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #resume(): void {
    if (!this.#stopped) this.#timer = setTimeout(this.#over, this.#betweenSteps);
  }
}
