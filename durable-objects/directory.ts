import { DurableObject } from "cloudflare:workers";
import { directorySql, directoryUpgrades } from "./directory-sql";
import type { DirectoryCalls, DirectoryEntry } from "./rpc";
import { Schema } from "./schema";

/**
 * One shard of the directory: per index object the earliest time anything in it is due, so that the cron finds the due
 * ones without visiting the idle. An entry may be too early, which costs a visit; it is never too late.
 */
export class Directory extends DurableObject implements DirectoryCalls {
  readonly #schema = new Schema(this.ctx.storage, directoryUpgrades, directorySql);

  async note(name: string, due: number): Promise<void> {
    this.#schema.transaction(() => {
      this.#schema.create();
      this.#schema.query("note", name, due, crypto.randomUUID());
    });
  }

  async due(now: number, limit: number, after?: DirectoryEntry): Promise<readonly DirectoryEntry[]> {
    const from = after ?? { due: Number.MIN_SAFE_INTEGER, name: "" };
    return this.#schema.query<DirectoryEntry>("due", now, from.due, from.name, limit);
  }

  async settle(seen: DirectoryEntry, nextDue: number | null): Promise<void> {
    if (nextDue === seen.due) return;
    const { name, due, mark } = seen;
    if (nextDue === null) this.#schema.query("remove", name, due, mark);
    else this.#schema.query("move", nextDue, name, due, mark);
  }
}
