// `session` is one row: the log level and counters, because COUNT(*) and sum() would read (and bill) every row.
// `event` is the replay log of all streams together; `stream` remembers how far each stream has counted.
export const sessionUpgrades = [
  `CREATE TABLE session (
     one INTEGER PRIMARY KEY,
     level TEXT,
     appended INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     claims INTEGER NOT NULL
   );
   INSERT INTO session (one, level, appended, bytes, claims) VALUES (1, NULL, 0, 0, 0);
   CREATE TABLE event (
     seq INTEGER PRIMARY KEY,
     stream TEXT NOT NULL,
     n INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     message TEXT NOT NULL
   );
   CREATE UNIQUE INDEX event_id ON event (stream, n);
   CREATE TABLE stream (name TEXT PRIMARY KEY, last INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX stream_age ON stream (seq);
   CREATE TABLE asking (n INTEGER PRIMARY KEY, task TEXT NOT NULL UNIQUE);
   CREATE TABLE claim (
     tool TEXT NOT NULL,
     key TEXT NOT NULL,
     digest TEXT NOT NULL,
     id TEXT NOT NULL,
     PRIMARY KEY (tool, key)
   ) WITHOUT ROWID;`,
] as const;

export const sessionSql = {
  session: `SELECT level, appended, bytes, claims FROM session WHERE one = 1`,
  setLevel: `UPDATE session SET level = ? WHERE one = 1`,
  tally: `UPDATE session SET appended = ?, bytes = ? WHERE one = 1`,
  countClaim: `UPDATE session SET claims = claims + 1 WHERE one = 1`,
  countEvent: `INSERT INTO stream (name, last, seq) VALUES (?, 1, ?)
               ON CONFLICT (name) DO UPDATE SET last = last + 1, seq = excluded.seq RETURNING last`,
  forgetStreams: `DELETE FROM stream WHERE seq <= ?`,
  last: `SELECT last FROM stream WHERE name = ?`,
  addEvent: `INSERT INTO event (seq, stream, n, bytes, message) VALUES (?, ?, ?, ?, ?)`,
  dropEvents: `DELETE FROM event WHERE seq <= ? RETURNING bytes`,
  dropOldest: `DELETE FROM event WHERE seq = (SELECT min(seq) FROM event) RETURNING bytes`,
  events: `SELECT n, message FROM event WHERE stream = ? AND n > ? ORDER BY n`,
  addAsking: `INSERT OR REPLACE INTO asking (task) VALUES (?)`,
  cutAsking: `DELETE FROM asking WHERE n <= (SELECT n FROM asking WHERE n > 0 ORDER BY n DESC LIMIT 1 OFFSET ?)`,
  asking: `SELECT task FROM asking WHERE n > 0 ORDER BY n`,
  claimed: `SELECT id, digest FROM claim WHERE tool = ? AND key = ?`,
  claim: `INSERT INTO claim (tool, key, digest, id) VALUES (?, ?, ?, ?)`,
} as const;
