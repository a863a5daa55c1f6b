// `version` 0 is a reservation no task has confirmed. `tally` is one row: counters, because COUNT(*) would read (and
// bill) every row, and the due time the directory was last told.
//
// A record's row lies in the same table: its `mark` tells one life of an id from the next, its `owner` is JSON, and NULL
// where a whole index is one owner's. `settled_at` is set when nothing but the retention rules how long it stays.
//
// `standing` is a task's, and NULL of a record: so the indexes for searches hold tasks only. They end with all that a
// search asks, so that counting reads one entry of an index for each row and nothing else.
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
  `ALTER TABLE task ADD COLUMN mark TEXT;
   ALTER TABLE task ADD COLUMN owner TEXT;
   ALTER TABLE task ADD COLUMN status TEXT;
   ALTER TABLE task ADD COLUMN settled_at INTEGER;
   CREATE INDEX record_status ON task (status, created_at, id) WHERE status IS NOT NULL;
   CREATE INDEX record_owner ON task (owner, status, created_at, id) WHERE owner IS NOT NULL;
   CREATE INDEX record_settled ON task (settled_at, id) WHERE settled_at IS NOT NULL;`,
  // Of a tool's result older rows do not say whether it was an error.
  `ALTER TABLE task ADD COLUMN standing TEXT;
   UPDATE task SET standing = CASE WHEN phase <> 'settled' THEN phase
     WHEN outcome = 'result' THEN 'done' WHEN outcome IN ('cancelled', 'rejected') THEN outcome ELSE 'failed' END
   WHERE mark IS NULL;
   CREATE INDEX task_status ON task (status_at, id, expires_at, standing) WHERE standing IS NOT NULL;
   CREATE INDEX task_context ON task (context_id, status_at, id, expires_at, standing) WHERE standing IS NOT NULL;
   CREATE INDEX task_standing ON task (standing, status_at, id, expires_at) WHERE standing IS NOT NULL;`,
] as const;

/** A row as a page shows it. */
const SHOWN = `id, created_at AS createdAt, tool, context_id AS contextId, origin, phase, outcome, status_at AS statusAt, version`;

const READABLE = `(expires_at IS NULL OR expires_at > ?)`;

/** Tasks, or records. */
const newestFirst = (filter = ""): string =>
  `SELECT ${SHOWN} FROM task WHERE ${filter}(created_at, id) < (?, ?) AND ${READABLE}
   ORDER BY created_at DESC, id DESC LIMIT ?`;

const FOUND = {
  search: `standing IS NOT NULL`,
  searchStanding: `standing = ?`,
  /** With a standing or without: a context has few tasks. */
  searchContext: `context_id = ? AND standing IS NOT NULL AND standing = coalesce(?, standing)`,
} as const;

const page = (which: keyof typeof FOUND): string =>
  `SELECT ${SHOWN} FROM task WHERE ${FOUND[which]} AND status_at >= ? AND ${READABLE} AND (status_at, id) < (?, ?)
   ORDER BY status_at DESC, id DESC LIMIT ?`;

/**
 * Reads (and bills) one entry of an index for each row that fits, of which an owner has `MAX_TASKS_PER_OWNER` at most:
 * ten thousand take some 3 ms.
 */
const total = (which: keyof typeof FOUND): string =>
  `SELECT count(*) AS total FROM task WHERE ${FOUND[which]} AND status_at >= ? AND ${READABLE}`;

export const ownerIndexSql = {
  tally: `SELECT stored, live, told, minute, created FROM tally WHERE one = 1`,
  /** The counters move by these amounts. */
  count: `UPDATE tally SET stored = stored + ?, live = live + ? WHERE one = 1`,
  /** One more, in this minute. */
  countNew: `UPDATE tally SET stored = stored + 1, live = live + 1,
             created = CASE WHEN minute = ? THEN created + 1 ELSE 1 END, minute = ? WHERE one = 1`,
  spent: `UPDATE tally SET minute = ?, created = ? WHERE one = 1`,
  tell: `UPDATE tally SET told = ? WHERE one = 1`,
  byId: `SELECT id, phase, version, deadline, mark FROM task WHERE id = ?`,
  byKey: `SELECT id, version, deadline, digest, expires_at, mark FROM task WHERE tool = ? AND key = ?`,
  insert: `INSERT INTO task (id, created_at, tool, context_id, origin, phase, outcome, status_at, version, due, expires_at, deadline, key, digest, mark, owner, status, standing)
           VALUES (?, ?, ?, ?, ?, 'submitted', NULL, ?, 0, ?, NULL, ?, ?, ?, ?, ?, ?, ?)`,
  freeKey: `UPDATE task SET key = NULL, digest = NULL WHERE tool = ? AND key = ?`,
  mirror: `UPDATE task SET version = ?, phase = ?, outcome = ?, status_at = ?, due = ?, expires_at = ?, standing = ? WHERE id = ?`,
  mirrorRecord: `UPDATE task SET version = ?, phase = ?, outcome = ?, status_at = ?, due = ?, expires_at = ?, created_at = ?, status = ?, settled_at = ?
                 WHERE id = ?`,
  postpone: `UPDATE task SET due = ? WHERE id = ?`,
  remove: `DELETE FROM task WHERE id = ?`,
  list: newestFirst(),
  search: page("search"),
  searchStanding: page("searchStanding"),
  searchContext: page("searchContext"),
  total: total("search"),
  totalStanding: total("searchStanding"),
  totalContext: total("searchContext"),
  recordsByStatus: newestFirst(`status = ? AND `),
  recordsByOwner: newestFirst(`owner = ? AND status = ? AND `),
  settledBefore: `SELECT id, settled_at AS settledAt, mark FROM task WHERE settled_at <= ? AND (settled_at, id) > (?, ?)
                  ORDER BY settled_at, id LIMIT ?`,
  due: `SELECT id, version, mark FROM task WHERE due <= ? ORDER BY due, id LIMIT ?`,
  nextDue: `SELECT min(due) AS due FROM task WHERE due IS NOT NULL`,
} as const;
