// `task.seq` is the order in which tasks began to wait; one without a lease waits. `mark` is the owner's turn that a pick
// was, `before` the one it had until then. `lane` is one owner's tasks of one tool: `served` is the owner's last turn (0:
// none yet), `head` its first task that waits, so that whose turn it is is the first row of an index. Times are the
// product's but for `stale_at`, which the alarm reads.
export const queueUpgrades = [
  `CREATE TABLE task (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     owner TEXT NOT NULL,
     tool TEXT NOT NULL,
     stale_at INTEGER NOT NULL,
     key TEXT,
     lease TEXT,
     until INTEGER,
     agreed INTEGER NOT NULL DEFAULT 0,
     mark INTEGER,
     before INTEGER
   );
   CREATE INDEX task_waiting ON task (owner, tool, seq) WHERE lease IS NULL;
   CREATE INDEX task_key ON task (key, seq) WHERE key IS NOT NULL;
   CREATE INDEX task_until ON task (until) WHERE until IS NOT NULL;
   CREATE TABLE lane (owner TEXT NOT NULL, tool TEXT NOT NULL, served INTEGER NOT NULL, head INTEGER,
     PRIMARY KEY (owner, tool)) WITHOUT ROWID;
   CREATE INDEX lane_turn ON lane (served, head) WHERE head IS NOT NULL;
   CREATE INDEX lane_tool ON lane (tool, served, head) WHERE head IS NOT NULL;
   CREATE INDEX lane_idle ON lane (served) WHERE head IS NULL;
   CREATE TABLE turn (one INTEGER PRIMARY KEY, last INTEGER NOT NULL);
   INSERT INTO turn (one, last) VALUES (1, 0);`,
] as const;

export const queueSql = {
  byId: `SELECT seq, owner, tool, lease FROM task WHERE id = ?`,
  byKey: `SELECT seq, id, lease FROM task WHERE key = ? ORDER BY seq`,
  bySeq: `SELECT id FROM task WHERE seq = ?`,
  add: `INSERT INTO task (id, owner, tool, stale_at) VALUES (?, ?, ?, ?) RETURNING seq`,
  keep: `UPDATE task SET stale_at = ? WHERE seq = ?`,
  remove: `DELETE FROM task WHERE seq = ?`,
  give: `UPDATE task SET key = ?, lease = ?, until = ?, mark = ?, before = ?, stale_at = ? WHERE seq = ?`,
  prolong: `UPDATE task SET until = ? WHERE seq = ?`,
  hold: `UPDATE task SET until = ?, agreed = 1, stale_at = ? WHERE id = ? AND lease = ?`,
  drop: `DELETE FROM task WHERE id = ? AND lease = ? RETURNING owner, mark, before`,
  /** Taken, and no claim will ask for it again. */
  forget: `DELETE FROM task WHERE until <= ? AND agreed = 1`,
  lapse: `UPDATE task SET key = NULL, lease = NULL, until = NULL, mark = NULL, before = NULL WHERE until <= ?
          RETURNING seq, owner, tool`,
  stale: `DELETE FROM task WHERE seq > 0 AND stale_at <= ? RETURNING owner, tool`,
  any: `SELECT seq FROM task WHERE seq > 0 ORDER BY seq LIMIT 1`,

  /** One more task waits there. A new lane of an owner that has others is served when they are. */
  enter: `INSERT INTO lane (owner, tool, served, head)
          VALUES (?, ?, coalesce((SELECT max(served) FROM lane WHERE owner = ?), 0), ?)
          ON CONFLICT (owner, tool) DO UPDATE SET head = min(coalesce(head, excluded.head), excluded.head)`,
  /** One task fewer waits there. */
  leave: `UPDATE lane SET head = (SELECT min(seq) FROM task
            WHERE task.owner = lane.owner AND task.tool = lane.tool AND lease IS NULL)
          WHERE owner = ? AND tool = ?`,
  serve: `UPDATE lane SET served = ? WHERE owner = ?`,
  unserve: `UPDATE lane SET served = ? WHERE owner = ? AND served = ?`,
  next: `SELECT owner, tool, served, head FROM lane WHERE head IS NOT NULL AND served >= 0 ORDER BY served, head LIMIT 1`,
  nextOf: `SELECT owner, tool, served, head FROM lane WHERE tool = ? AND head IS NOT NULL ORDER BY served, head LIMIT 1`,
  /** Who has nothing here and would come before all others anyway need not be remembered. */
  forgetIdle: `DELETE FROM lane WHERE head IS NULL
               AND served <= coalesce((SELECT min(served) FROM lane WHERE head IS NOT NULL), 9007199254740991)`,
  turn: `UPDATE turn SET last = last + 1 WHERE one = 1 RETURNING last`,
} as const;
