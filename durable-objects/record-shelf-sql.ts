// `fact` is the record without its long texts; `text` the long texts in parts, each written once, under the record's
// version at that time. BLOBs, because TEXT would not keep lone surrogates. `revision` names the kept documents.
export const recordShelfUpgrades = [
  `CREATE TABLE fact (one INTEGER PRIMARY KEY, facts TEXT NOT NULL);
   CREATE TABLE text (slot TEXT NOT NULL, version INTEGER NOT NULL, part INTEGER NOT NULL, format INTEGER NOT NULL,
     bytes BLOB NOT NULL, PRIMARY KEY (slot, version, part));
   CREATE TABLE log (seq INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part));
   CREATE TABLE revision (version INTEGER PRIMARY KEY, at INTEGER NOT NULL, bytes INTEGER NOT NULL);`,
] as const;

export const recordShelfSql = {
  facts: `SELECT facts FROM fact WHERE one = 1`,
  putFacts: `INSERT INTO fact (one, facts) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET facts = excluded.facts`,
  text: `SELECT format, bytes FROM text WHERE slot = ? AND version = ? ORDER BY part`,
  addText: `INSERT INTO text (slot, version, part, format, bytes) VALUES (?, ?, ?, ?, ?)`,
  removeText: `DELETE FROM text WHERE slot = ? AND version = ?`,
  entries: `SELECT seq, bytes FROM log WHERE seq > ? ORDER BY seq, part`,
  addEntry: `INSERT INTO log (seq, part, bytes) VALUES (?, ?, ?)`,
  removeEntries: `DELETE FROM log WHERE seq <= ?`,
  revisions: `SELECT version, at FROM revision WHERE version > 0 ORDER BY version DESC`,
  oldestRevision: `SELECT version, bytes FROM revision WHERE version > 0 ORDER BY version LIMIT 1`,
  addRevision: `INSERT INTO revision (version, at, bytes) VALUES (?, ?, ?)`,
  emptyText: `DELETE FROM text`,
  emptyLog: `DELETE FROM log`,
  emptyRevision: `DELETE FROM revision`,
  removeRevision: `DELETE FROM revision WHERE version = ?`,
} as const;
