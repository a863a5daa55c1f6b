/**
 * A task is one row: what it is found by in columns, and `record`, its facts without the long texts, which lie in pieces
 * in `value`. `rev` names the write that made the row what it is: a writer replaces only the row it has read. `owner` and
 * `context_id` are JSON, so that any text may stand there; nobody is `null`.
 *
 * `tally` counts for each owner, because COUNT(*) would read (and bill) every row; triggers keep it, so that no write can
 * forget it. `moved` numbers an owner's changes: a row has the number of its newest, a task that went leaves its own in
 * `gone` for a while.
 */
export const taskSchema = [
  `CREATE TABLE holdfast_task (
     id TEXT PRIMARY KEY,
     rev TEXT NOT NULL,
     namespace TEXT NOT NULL,
     owner TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     tool TEXT NOT NULL,
     context_id TEXT NOT NULL,
     origin TEXT NOT NULL,
     phase TEXT NOT NULL,
     outcome TEXT,
     status_at INTEGER NOT NULL,
     version INTEGER NOT NULL,
     due INTEGER,
     expires_at INTEGER,
     key TEXT,
     digest TEXT,
     minute INTEGER NOT NULL,
     moved INTEGER NOT NULL,
     record TEXT NOT NULL
   )`,
  `CREATE INDEX holdfast_task_age ON holdfast_task (namespace, owner, created_at, id)`,
  `CREATE INDEX holdfast_task_due ON holdfast_task (due, id) WHERE due IS NOT NULL`,
  `CREATE INDEX holdfast_task_expiry ON holdfast_task (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE INDEX holdfast_task_moved ON holdfast_task (namespace, owner, moved)`,
  `CREATE UNIQUE INDEX holdfast_task_key ON holdfast_task (namespace, owner, tool, key) WHERE key IS NOT NULL`,

  `CREATE TABLE holdfast_value (
     n INTEGER PRIMARY KEY,
     task TEXT NOT NULL REFERENCES holdfast_task (id) ON DELETE CASCADE,
     kind TEXT NOT NULL,
     slot TEXT NOT NULL,
     part INTEGER NOT NULL,
     escaped INTEGER NOT NULL,
     text TEXT NOT NULL,
     UNIQUE (task, kind, slot, part)
   )`,
  `CREATE TABLE holdfast_log (
     task TEXT NOT NULL REFERENCES holdfast_task (id) ON DELETE CASCADE,
     seq INTEGER NOT NULL,
     entry TEXT NOT NULL,
     PRIMARY KEY (task, seq)
   ) WITHOUT ROWID`,
  `CREATE TABLE holdfast_watcher (
     task TEXT NOT NULL REFERENCES holdfast_task (id) ON DELETE CASCADE,
     name TEXT NOT NULL,
     rank INTEGER NOT NULL,
     since INTEGER NOT NULL,
     carries INTEGER NOT NULL,
     holds INTEGER NOT NULL,
     until INTEGER NOT NULL,
     PRIMARY KEY (task, name)
   ) WITHOUT ROWID`,

  `CREATE TABLE holdfast_tally (
     namespace TEXT NOT NULL,
     owner TEXT NOT NULL,
     stored INTEGER NOT NULL,
     live INTEGER NOT NULL,
     minute INTEGER NOT NULL,
     created INTEGER NOT NULL,
     moved INTEGER NOT NULL,
     PRIMARY KEY (namespace, owner)
   ) WITHOUT ROWID`,
  `CREATE INDEX holdfast_tally_idle ON holdfast_tally (minute) WHERE stored = 0`,
  `CREATE TABLE holdfast_gone (
     namespace TEXT NOT NULL,
     owner TEXT NOT NULL,
     moved INTEGER NOT NULL,
     id TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (namespace, owner, moved)
   ) WITHOUT ROWID`,
  `CREATE INDEX holdfast_gone_age ON holdfast_gone (at)`,
  `CREATE TABLE holdfast_address (
     address TEXT PRIMARY KEY,
     minute INTEGER NOT NULL,
     created INTEGER NOT NULL
   ) WITHOUT ROWID`,
  `CREATE INDEX holdfast_address_age ON holdfast_address (minute)`,

  `CREATE TRIGGER holdfast_task_came AFTER INSERT ON holdfast_task BEGIN
     UPDATE holdfast_tally SET stored = stored + 1, live = live + 1, moved = moved + 1,
       created = CASE WHEN minute = NEW.minute THEN created + 1 ELSE 1 END, minute = NEW.minute
     WHERE namespace = NEW.namespace AND owner = NEW.owner;
     UPDATE holdfast_task SET moved =
       (SELECT moved FROM holdfast_tally WHERE namespace = NEW.namespace AND owner = NEW.owner) WHERE id = NEW.id;
   END`,
  `CREATE TRIGGER holdfast_task_moved AFTER UPDATE OF version ON holdfast_task WHEN NEW.version <> OLD.version BEGIN
     UPDATE holdfast_tally SET moved = moved + 1,
       live = live - (OLD.phase <> 'settled' AND NEW.phase = 'settled')
     WHERE namespace = NEW.namespace AND owner = NEW.owner;
     UPDATE holdfast_task SET moved =
       (SELECT moved FROM holdfast_tally WHERE namespace = NEW.namespace AND owner = NEW.owner) WHERE id = NEW.id;
   END`,
  `CREATE TRIGGER holdfast_task_went AFTER DELETE ON holdfast_task BEGIN
     UPDATE holdfast_tally SET stored = stored - 1, live = live - (OLD.phase <> 'settled'), moved = moved + 1
     WHERE namespace = OLD.namespace AND owner = OLD.owner;
     INSERT INTO holdfast_gone (namespace, owner, moved, id, at)
       SELECT namespace, owner, moved, OLD.id, unixepoch() FROM holdfast_tally
       WHERE namespace = OLD.namespace AND owner = OLD.owner;
   END`,
] as const;

/**
 * Version 2: where a task stands, as searches ask. Of a tool's result older rows do not say whether it was an error. The
 * indexes end with all that a search asks, so that counting reads one entry of an index for each row and nothing else.
 */
export const taskStandings = [
  `ALTER TABLE holdfast_task ADD COLUMN standing TEXT NOT NULL DEFAULT 'submitted'`,
  `UPDATE holdfast_task SET standing = CASE WHEN phase <> 'settled' THEN phase
     WHEN outcome = 'result' THEN 'done' WHEN outcome IN ('cancelled', 'rejected') THEN outcome ELSE 'failed' END`,
  `CREATE INDEX holdfast_task_status ON holdfast_task (namespace, owner, status_at, id, expires_at)`,
  `CREATE INDEX holdfast_task_context ON holdfast_task
     (namespace, owner, context_id, status_at, id, expires_at, standing)`,
  `CREATE INDEX holdfast_task_standing ON holdfast_task (namespace, owner, standing, status_at, id, expires_at)`,
] as const;

/** What a read needs of a task's long texts. */
const KINDS = {
  /** Where it stands, and what is asked. */
  facts: `'record', 'request'`,
  /** And what it came to. */
  view: `'record', 'request', 'outcome'`,
  /** And what was said from both sides. */
  said: `'arguments', 'extras', 'turn'`,
} as const;

const FOUND = {
  search: ``,
  searchStanding: `AND standing = ?`,
  /** With a standing or without: a context has few tasks. */
  searchContext: `AND context_id = ? AND standing = coalesce(?, standing)`,
} as const;

const fitting = (which: keyof typeof FOUND): string =>
  `FROM holdfast_task
   WHERE namespace = ? AND owner = ? ${FOUND[which]} AND status_at >= ? AND (expires_at IS NULL OR expires_at > ?)`;

const page = (which: keyof typeof FOUND): string =>
  `SELECT id, created_at, tool, context_id, origin, phase, outcome, status_at ${fitting(which)}
   AND (status_at, id) < (?, ?) ORDER BY status_at DESC, id DESC LIMIT ?`;

/** Reads (and bills) one entry of an index for each row that fits, of which an owner has `MAX_TASKS_PER_OWNER` at most. */
const total = (which: keyof typeof FOUND): string => `SELECT count(*) AS total ${fitting(which)}`;

const values = (which: string): string =>
  `SELECT kind, slot, escaped, text FROM holdfast_value WHERE task = ? ${which} ORDER BY task, kind, slot, part`;

/** A statement that belongs to a write: nothing, unless that write made the row what it is. */
const IF_WRITTEN = `EXISTS (SELECT 1 FROM holdfast_task WHERE id = ? AND rev = ?)`;

export const taskSql = {
  row: `SELECT rev, record FROM holdfast_task WHERE id = ?`,
  facts: values(`AND kind IN (${KINDS.facts})`),
  view: values(`AND kind IN (${KINDS.view})`),
  saidFacts: values(`AND kind IN (${KINDS.facts}, ${KINDS.said})`),
  saidView: values(`AND kind IN (${KINDS.view}, ${KINDS.said})`),
  full: values(``),
  version: `SELECT version FROM holdfast_task WHERE id = ?`,
  entries: `SELECT entry FROM holdfast_log WHERE task = ? AND seq > ? ORDER BY seq`,

  update: `UPDATE holdfast_task SET rev = ?, version = ?, phase = ?, outcome = ?, status_at = ?, due = ?, expires_at = ?,
           standing = ?, record = ? WHERE id = ? AND rev = ? RETURNING rev`,
  addValue: `INSERT INTO holdfast_value (task, kind, slot, part, escaped, text)
             SELECT ?, ?, ?, ?, ?, ? WHERE ${IF_WRITTEN}`,
  removeValue: `DELETE FROM holdfast_value WHERE task = ? AND kind = ? AND slot = ? AND ${IF_WRITTEN}`,
  addEntry: `INSERT INTO holdfast_log (task, seq, entry) SELECT ?, ?, ? WHERE ${IF_WRITTEN}`,
  dropOldestEntry: `DELETE FROM holdfast_log WHERE task = ? AND seq = (SELECT min(seq) FROM holdfast_log WHERE task = ?)
                    AND ${IF_WRITTEN}`,

  openTally: `INSERT INTO holdfast_tally (namespace, owner, stored, live, minute, created, moved)
              VALUES (?, ?, 0, 0, ?, 0, ?) ON CONFLICT DO NOTHING`,
  tally: `SELECT stored, live, minute, created, moved FROM holdfast_tally WHERE namespace = ? AND owner = ?`,
  byKey: `SELECT id, digest, expires_at FROM holdfast_task WHERE namespace = ? AND owner = ? AND tool = ? AND key = ?`,
  byId: `SELECT id, digest, expires_at FROM holdfast_task WHERE id = ?`,
  insert: `INSERT INTO holdfast_task (id, rev, namespace, owner, created_at, tool, context_id, origin, phase, outcome,
             status_at, version, due, expires_at, key, digest, minute, moved, standing, record)
           SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?
           FROM holdfast_tally WHERE namespace = ? AND owner = ? AND stored < ? AND live < ?
             AND (minute <> ? OR created < ?)
           ON CONFLICT DO NOTHING RETURNING rev`,

  list: `SELECT id, created_at, tool, context_id, origin, phase, outcome, status_at FROM holdfast_task
         WHERE namespace = ? AND owner = ? AND (created_at, id) < (?, ?) AND (expires_at IS NULL OR expires_at > ?)
         ORDER BY created_at DESC, id DESC LIMIT ?`,
  search: page("search"),
  searchStanding: page("searchStanding"),
  searchContext: page("searchContext"),
  total: total("search"),
  totalStanding: total("searchStanding"),
  totalContext: total("searchContext"),
  due: `SELECT id FROM holdfast_task WHERE due <= ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY due, id LIMIT ?`,
  changes: `SELECT moved, id, version, phase FROM holdfast_task WHERE namespace = ? AND owner = ? AND moved > ?
            ORDER BY moved LIMIT ?`,
  gone: `SELECT moved, id FROM holdfast_gone WHERE namespace = ? AND owner = ? AND moved > ? ORDER BY moved LIMIT ?`,

  removeExpired: `DELETE FROM holdfast_task WHERE id IN
                    (SELECT id FROM holdfast_task WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
                  RETURNING id, owner, tool, phase, record`,
  remove: `DELETE FROM holdfast_task WHERE id = ? AND expires_at <= ? RETURNING id`,
  /** By the database's own clock, in seconds: nobody reads it but here. */
  forgetGone: `DELETE FROM holdfast_gone WHERE at < unixepoch() - 600`,
  forgetIdle: `DELETE FROM holdfast_tally WHERE stored = 0 AND minute < ?`,
  forgetAddresses: `DELETE FROM holdfast_address WHERE minute < ?`,
  admit: `INSERT INTO holdfast_address (address, minute, created) VALUES (?, ?, 1)
          ON CONFLICT (address) DO UPDATE SET created = CASE WHEN minute = excluded.minute THEN created + 1 ELSE 1 END,
            minute = excluded.minute
          WHERE minute <> excluded.minute OR created < ? RETURNING created`,

  watchers: `SELECT name, rank, since, carries, holds, until FROM holdfast_watcher WHERE task = ?`,
  attend: `INSERT INTO holdfast_watcher (task, name, rank, since, carries, holds, until)
           SELECT id, ?, ?, 1 + coalesce((SELECT max(since) FROM holdfast_watcher WHERE task = ?), 0), 0, 0, ?
           FROM holdfast_task WHERE id = ?
           ON CONFLICT (task, name) DO UPDATE SET until = excluded.until`,
  carry: `UPDATE holdfast_watcher SET carries = 1, holds = ?, until = ? WHERE task = ? AND name = ? AND NOT EXISTS
            (SELECT 1 FROM holdfast_watcher WHERE task = ? AND carries = 1 AND name <> ? AND until > ?) RETURNING name`,
  hold: `UPDATE holdfast_watcher SET holds = ? WHERE task = ? AND name = ? AND carries = 1 RETURNING name`,
  relieve: `UPDATE holdfast_watcher SET carries = 0, holds = 0 WHERE task = ? AND name = ? RETURNING name`,
  leave: `DELETE FROM holdfast_watcher WHERE task = ? AND name = ?`,
  forgetWatchers: `DELETE FROM holdfast_watcher WHERE task = ? AND until <= ?`,
} as const;
