const VERSION = "schema";

/**
 * An object's tables, made only by a write that needs them: looking at an object that holds nothing stores nothing.
 * `upgrades[n]` brings version n to version n + 1, since a deploy meets the rows of the one before. Only ever append.
 */
export class Schema {
  readonly #storage: DurableObjectStorage;
  readonly #upgrades: readonly string[];
  /** True once they were seen in storage; never learnt from a write, which a transaction may still undo. */
  #seen = false;

  constructor(storage: DurableObjectStorage, upgrades: readonly string[]) {
    this.#storage = storage;
    this.#upgrades = upgrades;
  }

  exists(): boolean {
    if (this.#seen) return true;
    const version = this.#storage.kv.get<number>(VERSION);
    if (version === undefined) return false;
    if (version < this.#upgrades.length) this.#storage.transactionSync(() => this.#upgradeFrom(version));
    this.#seen = true;
    return true;
  }

  /** To be called within the transaction that writes the first rows. */
  create(): void {
    if (!this.exists()) this.#upgradeFrom(0);
  }

  /** After `deleteAll`, which drops the tables too. */
  forget(): void {
    this.#seen = false;
  }

  #upgradeFrom(version: number): void {
    for (const upgrade of this.#upgrades.slice(version)) this.#storage.sql.exec(upgrade);
    this.#storage.kv.put(VERSION, this.#upgrades.length);
  }
}
