import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Server } from "../server.ts";
import type { Door } from "./door.ts";

/** The platform's own caller: the cron collects what has expired, and may die over it like everybody else. */
export class Cron implements Door {
  readonly name = "cron";
  readonly weight = 0.6;
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(_: Random, journal: Journal): Promise<void> {
    const life = await this.#server.up();
    journal.count("sweeps begun");
    await this.#server.beginSweep().catch((error: unknown) => {
      if (this.#server.life === life) throw error;
    });
  }

  async verify(): Promise<void> {
    // It answers nobody; what it leaves behind the audit of storage sees.
  }
}
