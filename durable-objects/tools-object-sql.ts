// `list` is one row of counters, because COUNT(*) would read (and bill) every row. `revision` moves with each change, so
// that a watcher who lost its connection knows whether it missed any.
export const toolsUpgrades = [
  `CREATE TABLE list (one INTEGER PRIMARY KEY, tools INTEGER NOT NULL, revision INTEGER NOT NULL);
   INSERT INTO list (one, tools, revision) VALUES (1, 0, 0);
   CREATE TABLE tool (name TEXT PRIMARY KEY, declaration TEXT NOT NULL);`,
] as const;

export const toolsSql = {
  list: `SELECT tools, revision FROM list WHERE one = 1`,
  change: `UPDATE list SET tools = tools + ?, revision = revision + 1 WHERE one = 1`,
  get: `SELECT declaration FROM tool WHERE name = ?`,
  all: `SELECT declaration FROM tool WHERE name > '' ORDER BY name`,
  put: `INSERT INTO tool (name, declaration) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration`,
  remove: `DELETE FROM tool WHERE name = ?`,
} as const;
