// `version` 0 is a reservation no task has confirmed. `tally` is one row: counters, because COUNT(*) would read (and
// bill) every row, and the due time the directory was last told.
export const ownerIndexUpgrades = [
  `CREATE TABLE task (
     id TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     tool TEXT NOT NULL,
     context_id TEXT,
     origin TEXT NOT NULL,
     phase TEXT NOT NULL,
     outcome TEXT,
     status_at INTEGER NOT NULL,
     version INTEGER NOT NULL,
     due INTEGER,
     expires_at INTEGER,
     deadline INTEGER NOT NULL,
     key TEXT,
     digest TEXT
   ) WITHOUT ROWID;
   CREATE INDEX task_age ON task (created_at, id);
   CREATE INDEX task_due ON task (due, id) WHERE due IS NOT NULL;
   CREATE UNIQUE INDEX task_key ON task (tool, key) WHERE key IS NOT NULL;
   CREATE TABLE tally (one INTEGER PRIMARY KEY, stored INTEGER NOT NULL, live INTEGER NOT NULL, told INTEGER,
     minute INTEGER NOT NULL, created INTEGER NOT NULL);
   INSERT INTO tally (one, stored, live, told, minute, created) VALUES (1, 0, 0, NULL, 0, 0);`,
] as const;

export const ownerIndexSql = {
  tally: `SELECT stored, live, told, minute, created FROM tally WHERE one = 1`,
  /** The counters move by these amounts. */
  count: `UPDATE tally SET stored = stored + ?, live = live + ? WHERE one = 1`,
  /** One more, in this minute. */
  countNew: `UPDATE tally SET stored = stored + 1, live = live + 1,
             created = CASE WHEN minute = ? THEN created + 1 ELSE 1 END, minute = ? WHERE one = 1`,
  tell: `UPDATE tally SET told = ? WHERE one = 1`,
  byId: `SELECT id, phase, version, deadline FROM task WHERE id = ?`,
  byKey: `SELECT id, version, deadline, digest, expires_at FROM task WHERE tool = ? AND key = ?`,
  insert: `INSERT INTO task (id, created_at, tool, context_id, origin, phase, outcome, status_at, version, due, expires_at, deadline, key, digest)
           VALUES (?, ?, ?, ?, ?, 'submitted', NULL, ?, 0, ?, NULL, ?, ?, ?)`,
  freeKey: `UPDATE task SET key = NULL, digest = NULL WHERE tool = ? AND key = ?`,
  mirror: `UPDATE task SET version = ?, phase = ?, outcome = ?, status_at = ?, due = ?, expires_at = ? WHERE id = ?`,
  postpone: `UPDATE task SET due = ? WHERE id = ?`,
  remove: `DELETE FROM task WHERE id = ?`,
  list: `SELECT id, created_at, tool, context_id, origin, phase, outcome, status_at, version FROM task
         WHERE (created_at, id) < (?, ?) AND (expires_at IS NULL OR expires_at > ?)
         ORDER BY created_at DESC, id DESC LIMIT ?`,
  due: `SELECT id, version FROM task WHERE due <= ? ORDER BY due, id LIMIT ?`,
  nextDue: `SELECT min(due) AS due FROM task WHERE due IS NOT NULL`,
} as const;
