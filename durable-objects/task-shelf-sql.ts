// `record` is the task without its long texts, in parts; `value` the long texts, each written once, in parts in the
// order of `n`. BLOBs, because TEXT would not keep lone surrogates.
export const taskShelfUpgrades = [
  `CREATE TABLE record (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
   CREATE TABLE value (n INTEGER PRIMARY KEY, slot TEXT NOT NULL, format INTEGER NOT NULL, bytes BLOB NOT NULL);
   CREATE TABLE log (seq INTEGER PRIMARY KEY, entry TEXT NOT NULL);`,
] as const;

export const taskShelfSql = {
  record: `SELECT bytes FROM record WHERE part >= 0 ORDER BY part`,
  putRecord: `INSERT INTO record (part, bytes) VALUES (?, ?) ON CONFLICT (part) DO UPDATE SET bytes = excluded.bytes`,
  cutRecord: `DELETE FROM record WHERE part >= ?`,
  values: `SELECT n, slot, format, bytes FROM value WHERE n > 0 ORDER BY n`,
  addValue: `INSERT INTO value (n, slot, format, bytes) VALUES (?, ?, ?, ?)`,
  removeValue: `DELETE FROM value WHERE n = ?`,
  entries: `SELECT entry FROM log WHERE seq > ? ORDER BY seq`,
  addEntry: `INSERT INTO log (seq, entry) VALUES (?, ?)`,
  dropOldestEntry: `DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)`,
} as const;
