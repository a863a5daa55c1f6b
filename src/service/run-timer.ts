/** How long a run may take, ms. */
export type RunTimes = {
  /** One step, where steps are timed by themselves. */
  readonly step: number;
  /** What is no such step: before the first, between two, after the last. */
  readonly other: number;
};

/** Calls `over` when a run takes too long. */
export class RunTimer {
  readonly #times: RunTimes;
  readonly #over: () => void;
  #steps = 0;
  #other: ReturnType<typeof setTimeout> | null = null;
  #stopped = false;

  constructor(times: RunTimes, over: () => void) {
    this.#times = times;
    this.#over = over;
    this.#resume();
  }

  /** While a step goes on, only its own time counts. */
  async during<T>(step: () => Promise<T>): Promise<T> {
    const timer = setTimeout(this.#over, this.#times.step);
    this.#steps += 1;
    this.#pause();
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
    this.#pause();
  }

  #pause(): void {
    if (this.#other !== null) clearTimeout(this.#other);
    this.#other = null;
  }

  #resume(): void {
    if (!this.#stopped) this.#other = setTimeout(this.#over, this.#times.other);
  }
}
