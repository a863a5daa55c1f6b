import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startDevServer, type DevServer } from "../support/dev-server.ts";
import { copyCheckout } from "./static-copy.ts";

/** What one run of the cron says it did. */
export type Swept = {
  readonly examined: number;
  readonly removed: number;
  readonly dropped: number;
  readonly poked: number;
  readonly failures: number;
  readonly finished: boolean;
};

export const OWNERS = ["owner-a", "owner-b"] as const;
export type OwnerName = (typeof OWNERS)[number];

/** Small enough that the load meets it now and then. */
export const MAX_LIVE_TASKS = 40;

/** Limits that would only slow the load down are out of the way; waits are short, so that there are many of them. */
const SETTINGS = {
  MAX_LIVE_TASKS_PER_OWNER: String(MAX_LIVE_TASKS),
  CREATES_PER_MINUTE: "1000000",
  POLL_BURST: "1000000",
  MAX_STREAMS_PER_OWNER: "1000",
  TASK_MIN_TTL_MS: "1000",
  TASK_MAX_RESTARTS: "1000",
  INLINE_WAIT_MS: "1500",
  A2A_BLOCK_MS: "1500",
  RESERVATION_MS: "10000",
};

/** The server that is killed, over all of its lives. */
export class Server {
  readonly url: string;
  /** Where its objects are stored. */
  readonly storage: string;
  readonly #home: string;
  readonly #dev: DevServer;
  #life = 1;
  #lives: PromiseWithResolvers<number> = Promise.withResolvers();
  #work: PromiseWithResolvers<void> = Promise.withResolvers();
  #isUp = true;
  #offsetMs = 0;
  #upSince = Date.now();
  #answers = 0;

  private constructor(home: string, dev: DevServer) {
    this.url = dev.url;
    this.storage = join(home, "state/v3/do");
    this.#home = home;
    this.#dev = dev;
    this.#lives.resolve(1);
  }

  static async start(home: string): Promise<Server> {
    await mkdir(join(home, "lives"), { recursive: true });
    const root = await copyCheckout(join(home, "checkout"));
    return new Server(home, await startDevServer({ env: "owners", vars: SETTINGS, root, home }));
  }

  /** Which of its lives this is; null while it is dead or not up yet. */
  get life(): number | null {
    return this.#isUp ? this.#life : null;
  }

  /** Unix ms; of the life before, while it is dead. */
  get upSince(): number {
    return this.#upSince;
  }

  /** Resolves when it is up, with which of its lives it is. */
  up(): Promise<number> {
    return this.#lives.promise;
  }

  /** Resolves when a client of this life has an answer: a busy machine takes a while to get there. */
  async atWork(): Promise<void> {
    await this.#lives.promise;
    await this.#work.promise;
  }

  answered(life: number): void {
    if (life !== this.life) return;
    this.#answers += 1;
    this.#work.resolve();
  }

  /** How many it gave in this life. */
  get answers(): number {
    return this.#answers;
  }

  /** `kill -9` of the whole process group, whatever it is doing. */
  async kill(): Promise<void> {
    if (this.#isUp) this.#lives = Promise.withResolvers();
    this.#work = Promise.withResolvers();
    this.#isUp = false;
    this.#life += 1;
    this.#answers = 0;
    this.#offsetMs = 0;
    await this.#dev.kill();
    // What it said last goes with it otherwise.
    await writeFile(join(this.#home, "lives", `${this.#life - 1}.log`), this.#dev.output());
  }

  /** False when it was killed again before it was up. */
  async restart(): Promise<boolean> {
    const life = this.#life;
    try {
      await this.#dev.restart();
    } catch (error) {
      if (this.#life === life) throw error;
      return false;
    }
    if (this.#life !== life) return false;
    this.#isUp = true;
    this.#upSince = Date.now();
    this.#lives.resolve(life);
    return true;
  }

  /** Ends it; what it stored stays. */
  async stop(): Promise<void> {
    await this.#dev.stop();
  }

  /** The time it takes it to be. */
  now(): number {
    return Date.now() + this.#offsetMs;
  }

  /** Only its clock: alarms that were set before ring when they would have. A restart sets it right again. */
  async moveClock(offsetMs: number): Promise<void> {
    const body = JSON.stringify({ offsetMs });
    const response = await fetch(`${this.url}/__fixture/clock`, { method: "POST", body });
    if (!response.ok) throw new Error(`The fixture clock answered ${response.status}.`);
    this.#offsetMs = offsetMs;
  }

  /** Begins a run of the cron; nobody waits for it. */
  async beginSweep(): Promise<void> {
    const response = await fetch(`${this.url}/cdn-cgi/local/scheduled`);
    await response.body?.cancel();
  }

  /** One run of the cron, to its end. */
  async sweep(): Promise<Swept> {
    const from = this.#dev.output().length;
    await this.beginSweep();
    const deadline = Date.now() + 60_000;
    for (;;) {
      const line = /^\{.*"message":"Swept\.".*\}$/m.exec(this.#dev.output().slice(from));
      if (line) return JSON.parse(line[0]) as Swept;
      if (Date.now() > deadline) throw new Error("The cron did not end within a minute.");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
