// `mark` is fresh with every `note`: a sweep may change an entry only if nobody noted it after the sweep saw it.
export const directoryUpgrades = [
  `CREATE TABLE owner (name TEXT PRIMARY KEY, due INTEGER NOT NULL, mark TEXT NOT NULL) WITHOUT ROWID;
   CREATE INDEX owner_due ON owner (due, name);`,
] as const;

export const directorySql = {
  note: `INSERT INTO owner (name, due, mark) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET due = min(due, excluded.due), mark = excluded.mark`,
  due: `SELECT name, due, mark FROM owner WHERE due <= ? AND (due, name) > (?, ?) ORDER BY due, name LIMIT ?`,
  move: `UPDATE owner SET due = ? WHERE name = ? AND due = ? AND mark = ?`,
  remove: `DELETE FROM owner WHERE name = ? AND due = ? AND mark = ?`,
} as const;
