import type { Journal } from "../journal.ts";

/** All is at rest, so there is nothing left to wait for but the answer itself. */
const PATIENCE_MS = 60_000;

/** Clients that wait for something, over any number of kills, while others act. */
export class Waits {
  readonly #name: string;
  readonly #most: number;
  readonly #open = new Map<string, Promise<void>>();

  constructor(name: string, most: number) {
    this.#name = name;
    this.#most = most;
  }

  /** `attempt` resolves to whether it was answered; a lost one is begun again, as a client would that reconnects. */
  begin(what: string, journal: Journal, attempt: () => Promise<boolean>): void {
    if (this.#open.size >= this.#most || this.#open.has(what)) return;
    const wait = async (): Promise<void> => {
      try {
        while (!(await attempt())) journal.count("waits begun again");
        journal.count("waits answered");
      } catch (error) {
        journal.found("an answer to each", `${this.#name}, waiting for ${what}: ${String(error)}.`);
      } finally {
        this.#open.delete(what);
      }
    };
    this.#open.set(what, wait());
  }

  /** Every one of them has to be answered now. */
  async answered(journal: Journal): Promise<void> {
    const late = new Promise<void>((resolve) => void setTimeout(resolve, PATIENCE_MS).unref());
    await Promise.race([Promise.all(this.#open.values()), late]);
    for (const what of this.#open.keys())
      journal.found("an answer to each", `${this.#name} still waits for ${what}, though all is at rest.`);
  }
}
