import { recordSchema } from "./record-sql";
import { taskSchema, taskStandings } from "./task-sql";

/**
 * `upgrades[n]` brings a database from version n to version n + 1, since a deploy meets the tables of the one before. Only
 * ever append. All names begin with `holdfast_`: the database may hold other things too.
 */
const upgrades: readonly (readonly string[])[] = [[...taskSchema, ...recordSchema], taskStandings];

/** Makes or brings up to date the tables that the stores need. May be called at any time, by any number of callers. */
export async function migrate(db: D1Database): Promise<void> {
  for (let version = await versionOf(db); version < upgrades.length; version = await versionOf(db)) {
    try {
      // One transaction: all of an upgrade, or nothing.
      await db.batch([
        db.prepare(`UPDATE holdfast_schema SET version = ? WHERE one = 1`).bind(version + 1),
        ...(upgrades[version] as readonly string[]).map((statement) => db.prepare(statement)),
      ]);
    } catch (error) {
      // Somebody else did the same at the same time.
      if ((await versionOf(db)) <= version) throw error;
    }
  }
}

async function versionOf(db: D1Database): Promise<number> {
  const [, , found] = await db.batch<{ version: number }>([
    db.prepare(`CREATE TABLE IF NOT EXISTS holdfast_schema (one INTEGER PRIMARY KEY, version INTEGER NOT NULL)`),
    db.prepare(`INSERT INTO holdfast_schema (one, version) VALUES (1, 0) ON CONFLICT DO NOTHING`),
    db.prepare(`SELECT version FROM holdfast_schema WHERE one = 1`),
  ]);
  return found?.results[0]?.version ?? 0;
}

/** A database that was found up to date stays so for as long as this isolate lives. */
export function migrated(db: D1Database): () => Promise<D1Database> {
  let done = false;
  // Not the promise but what it came to is kept: one request must not wait for the I/O of another.
  return async () => {
    if (!done) await migrate(db);
    done = true;
    return db;
  };
}
