const VERSION = "schema";

/**
 * An object's tables, made only by a write that needs them: looking at an object that holds nothing stores nothing.
 * `upgrades[n]` brings version n to version n + 1, since a deploy meets the rows of the one before. Only ever append.
 */
export class Schema<Statement extends string = never> {
  protected readonly storage: DurableObjectStorage;
  readonly #upgrades: readonly string[];
  readonly #statements: Readonly<Record<Statement, string>>;
  /** True once they were seen in storage. */
  #seen = false;

  constructor(
    storage: DurableObjectStorage,
    upgrades: readonly string[],
    statements: Readonly<Record<Statement, string>>,
  ) {
    this.storage = storage;
    this.#upgrades = upgrades;
    this.#statements = statements;
  }

  exists(): boolean {
    if (this.#seen) return true;
    const version = this.storage.kv.get<number>(VERSION);
    if (version === undefined) return false;
    if (version < this.#upgrades.length) this.storage.transactionSync(() => this.#upgradeFrom(version));
    this.#seen = true;
    return true;
  }

  /** All of it or nothing, the tables included: what was seen within is not to be trusted when it is undone. */
  transaction<T>(write: () => T): T {
    try {
      return this.storage.transactionSync(write);
    } catch (error) {
      this.#seen = false;
      throw error;
    }
  }

  /** To be called within the transaction that writes the first rows. */
  create(): void {
    if (!this.exists()) this.#upgradeFrom(0);
  }

  /** Leaves nothing behind: the tables go too, and the alarm with them. */
  async wipe(): Promise<void> {
    this.#seen = false;
    // Since compatibility date 2026-02-24 the second alone would do.
    await Promise.all([this.storage.deleteAlarm(), this.storage.deleteAll()]);
  }

  /** Where there are no tables there are no rows. */
  query<Row extends Record<string, SqlStorageValue>>(statement: Statement, ...values: unknown[]): Row[] {
    return this.exists() ? this.storage.sql.exec<Row>(this.#statements[statement], ...values).toArray() : [];
  }

  #upgradeFrom(version: number): void {
    for (const upgrade of this.#upgrades.slice(version)) this.storage.sql.exec(upgrade);
    this.storage.kv.put(VERSION, this.#upgrades.length);
  }
}
