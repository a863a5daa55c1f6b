/** As text; null where there is nothing. */
export type Content = string | null;

/** Something that one client at a time writes: what it must hold is known, but for writes whose answer was lost. */
export class Register {
  /** Somebody is at it, and whoever comes now has to leave it alone. */
  isBusy = false;
  #held: Content = null;
  /** Sent since, and never acknowledged: any of them may be what it holds. */
  readonly #doubtful = new Set<Content>();

  /** What was acknowledged last, or read. */
  get held(): Content {
    return this.#held;
  }

  /** No write is in doubt. */
  get isSure(): boolean {
    return this.#doubtful.size === 0;
  }

  mayHold(content: Content): boolean {
    return content === this.#held || this.#doubtful.has(content);
  }

  /** Before it is sent. */
  writing(content: Content): void {
    this.#doubtful.add(content);
  }

  /** It was acknowledged, or read: a write that was lost came before that, or never. */
  holds(content: Content): void {
    this.#held = content;
    this.#doubtful.clear();
  }

  /** For people. */
  told(): string {
    return [this.#held, ...this.#doubtful].map((content) => content ?? "nothing").join(", or ");
  }
}

/** The registers of one kind, by name. */
export class Registers {
  readonly all = new Map<string, Register>();

  of(name: string): Register {
    const register = this.all.get(name) ?? new Register();
    this.all.set(name, register);
    return register;
  }

  /** Acts on it with nobody else doing so; not at all where somebody is. */
  async alone(name: string, act: (register: Register) => Promise<void>): Promise<void> {
    const register = this.of(name);
    if (register.isBusy) return;
    register.isBusy = true;
    try {
      await act(register);
    } finally {
      register.isBusy = false;
    }
  }
}
