/** The workers' own log: what each sent as the end of a task, and what it was told of that. */
export class WorkBook {
  /** Task → each end that was ever sent → whether it was turned down. */
  readonly #ends = new Map<string, Map<string, "sent" | "refused">>();

  /** The tasks that a worker sent an end of. */
  get tasks(): Iterable<string> {
    return this.#ends.keys();
  }

  ending(id: string, end: string): void {
    const ends = this.#ends.get(id) ?? new Map<string, "sent" | "refused">();
    this.#ends.set(id, ends.set(end, "sent"));
  }

  /** Its lease was not in force: nothing may come of it. */
  refused(id: string, end: string): void {
    this.#ends.get(id)?.set(end, "refused");
  }

  /** Undefined for what no worker ever sent. */
  of(id: string, end: string): "sent" | "refused" | undefined {
    return this.#ends.get(id)?.get(end);
  }
}
