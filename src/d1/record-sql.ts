/**
 * A record is one row: what it is found by in columns, and `facts`, which is the record without its long texts; those lie
 * in pieces in `record_text`. `space`, `id` and `owner` are JSON, so that any text may stand there; nobody is `null`, and
 * the status of a document is empty. `rev` names the write that made the row what it is. `fades_at` is when it was settled,
 * where no ttl says how long it stays.
 */
export const recordSchema = [
  `CREATE TABLE holdfast_record (
     n INTEGER PRIMARY KEY AUTOINCREMENT,
     namespace TEXT NOT NULL,
     space TEXT NOT NULL,
     id TEXT NOT NULL,
     rev TEXT NOT NULL,
     owner TEXT NOT NULL,
     status TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     seq INTEGER NOT NULL,
     expires_at INTEGER,
     fades_at INTEGER,
     minted INTEGER NOT NULL,
     key TEXT,
     digest TEXT,
     minute INTEGER NOT NULL,
     facts TEXT NOT NULL,
     UNIQUE (namespace, space, id)
   )`,
  `CREATE INDEX holdfast_record_age ON holdfast_record (namespace, space, created_at, id)`,
  `CREATE INDEX holdfast_record_status ON holdfast_record (namespace, space, status, created_at, id)`,
  `CREATE INDEX holdfast_record_owner ON holdfast_record (namespace, space, owner, status, created_at, id)`,
  `CREATE INDEX holdfast_record_space_expiry ON holdfast_record (namespace, space, expires_at)
   WHERE expires_at IS NOT NULL`,
  `CREATE INDEX holdfast_record_expiry ON holdfast_record (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE INDEX holdfast_record_fading ON holdfast_record (namespace, space, fades_at) WHERE fades_at IS NOT NULL`,
  `CREATE UNIQUE INDEX holdfast_record_minted ON holdfast_record (namespace, id) WHERE minted = 1`,
  `CREATE UNIQUE INDEX holdfast_record_key ON holdfast_record (namespace, space, key) WHERE key IS NOT NULL`,

  `CREATE TABLE holdfast_record_text (
     m INTEGER PRIMARY KEY,
     record INTEGER NOT NULL REFERENCES holdfast_record (n) ON DELETE CASCADE,
     slot TEXT NOT NULL,
     part INTEGER NOT NULL,
     escaped INTEGER NOT NULL,
     text TEXT NOT NULL,
     UNIQUE (record, slot, part)
   )`,
  `CREATE TABLE holdfast_record_entry (
     m INTEGER PRIMARY KEY,
     record INTEGER NOT NULL REFERENCES holdfast_record (n) ON DELETE CASCADE,
     seq INTEGER NOT NULL,
     part INTEGER NOT NULL,
     text TEXT NOT NULL,
     UNIQUE (record, seq, part)
   )`,
  `CREATE TABLE holdfast_revision (
     m INTEGER PRIMARY KEY,
     record INTEGER NOT NULL REFERENCES holdfast_record (n) ON DELETE CASCADE,
     version INTEGER NOT NULL,
     at INTEGER NOT NULL,
     part INTEGER NOT NULL,
     escaped INTEGER NOT NULL,
     text TEXT NOT NULL,
     UNIQUE (record, version, part)
   )`,

  `CREATE TABLE holdfast_record_tally (
     namespace TEXT NOT NULL,
     space TEXT NOT NULL,
     stored INTEGER NOT NULL,
     minute INTEGER NOT NULL,
     created INTEGER NOT NULL,
     PRIMARY KEY (namespace, space)
   ) WITHOUT ROWID`,
  `CREATE INDEX holdfast_record_tally_idle ON holdfast_record_tally (minute) WHERE stored = 0`,
  `CREATE TRIGGER holdfast_record_came AFTER INSERT ON holdfast_record BEGIN
     UPDATE holdfast_record_tally SET stored = stored + 1,
       created = CASE WHEN minute = NEW.minute THEN created + 1 ELSE 1 END, minute = NEW.minute
     WHERE namespace = NEW.namespace AND space = NEW.space;
   END`,
  `CREATE TRIGGER holdfast_record_went AFTER DELETE ON holdfast_record BEGIN
     UPDATE holdfast_record_tally SET stored = stored - 1 WHERE namespace = OLD.namespace AND space = OLD.space;
   END`,
] as const;

const BY_KEY = `namespace = ? AND space = ? AND id = ?`;
const BY_MINT = `namespace = ? AND id = ? AND minted = 1`;
const BY_NUMBER = `n = ?`;

const row = (where: string): string => `SELECT n, rev, facts FROM holdfast_record WHERE ${where}`;
const texts = (where: string): string =>
  `SELECT slot, escaped, text FROM holdfast_record_text
   WHERE record = (SELECT n FROM holdfast_record WHERE ${where}) ORDER BY record, slot, part`;

/** A statement that belongs to a write: nothing, unless that write made the row what it is. */
const IF_WRITTEN = `EXISTS (SELECT 1 FROM holdfast_record WHERE n = ? AND rev = ?)`;
const NEW_ROW = `FROM holdfast_record WHERE namespace = ? AND space = ? AND id = ? AND rev = ?`;

const list = (where: string): string =>
  `SELECT n, created_at, id FROM holdfast_record WHERE namespace = ? AND space = ? ${where} AND (created_at, id) < (?, ?)
     AND (expires_at IS NULL OR expires_at > ?)
   ORDER BY created_at DESC, id DESC LIMIT ?`;

export const recordSql = {
  rowByKey: row(BY_KEY),
  textsByKey: texts(BY_KEY),
  rowByMint: row(BY_MINT),
  textsByMint: texts(BY_MINT),
  rowByNumber: row(BY_NUMBER),
  textsByNumber: texts(BY_NUMBER),

  openTally: `INSERT INTO holdfast_record_tally (namespace, space, stored, minute, created) VALUES (?, ?, 0, ?, 0)
              ON CONFLICT DO NOTHING`,
  tally: `SELECT stored, minute, created FROM holdfast_record_tally WHERE namespace = ? AND space = ?`,
  holderOfKey: `SELECT n, digest, expires_at FROM holdfast_record WHERE namespace = ? AND space = ? AND key = ?`,
  holderOfId: `SELECT n, digest, expires_at FROM holdfast_record WHERE namespace = ? AND space = ? AND id = ?`,
  insert: `INSERT INTO holdfast_record (namespace, space, id, rev, owner, status, created_at, seq, expires_at, fades_at,
             minted, key, digest, minute, facts)
           SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM holdfast_record_tally
           WHERE namespace = ? AND space = ? AND stored < ? AND (minute <> ? OR created < ?)
           ON CONFLICT DO NOTHING RETURNING n`,
  firstText: `INSERT INTO holdfast_record_text (record, slot, part, escaped, text) SELECT n, ?, ?, ?, ? ${NEW_ROW}`,
  firstEntry: `INSERT INTO holdfast_record_entry (record, seq, part, text) SELECT n, ?, ?, ? ${NEW_ROW}`,

  update: `UPDATE holdfast_record SET rev = ?, status = ?, seq = ?, expires_at = ?, fades_at = ?, facts = ?
           WHERE n = ? AND rev = ? RETURNING rev`,
  keepRevision: `INSERT INTO holdfast_revision (record, version, at, part, escaped, text)
                 SELECT record, ?, ?, part, escaped, text FROM holdfast_record_text
                 WHERE record = ? AND slot = 'document' AND ${IF_WRITTEN}`,
  dropRevisions: `DELETE FROM holdfast_revision WHERE record = ? AND version <= ? AND ${IF_WRITTEN}`,
  removeText: `DELETE FROM holdfast_record_text WHERE record = ? AND slot = ? AND ${IF_WRITTEN}`,
  addText: `INSERT INTO holdfast_record_text (record, slot, part, escaped, text) SELECT ?, ?, ?, ?, ? WHERE ${IF_WRITTEN}`,
  addEntry: `INSERT INTO holdfast_record_entry (record, seq, part, text) SELECT ?, ?, ?, ? WHERE ${IF_WRITTEN}`,
  dropEntries: `DELETE FROM holdfast_record_entry WHERE record = ? AND seq <= ? AND ${IF_WRITTEN}`,

  head: `SELECT seq, expires_at FROM holdfast_record WHERE n = ?`,
  entries: `SELECT seq, text FROM holdfast_record_entry WHERE record = ? AND seq > ? AND seq <= ? ORDER BY seq, part`,
  revisions: `SELECT version, at, escaped, text FROM holdfast_revision WHERE record = ? AND version < ?
              ORDER BY version DESC, part DESC LIMIT ?`,

  list: list(``),
  listByStatus: list(`AND status = ?`),
  listByOwner: list(`AND owner = ? AND status = ?`),

  remove: `DELETE FROM holdfast_record WHERE n = ? RETURNING n`,
  removeExpiredOne: `DELETE FROM holdfast_record WHERE n = ? AND expires_at <= ?`,
  removeExpired: `DELETE FROM holdfast_record WHERE n IN
                    (SELECT n FROM holdfast_record WHERE namespace = ? AND space = ? AND expires_at <= ? LIMIT ?)
                  RETURNING n`,
  removeFaded: `DELETE FROM holdfast_record WHERE n IN
                  (SELECT n FROM holdfast_record WHERE namespace = ? AND space = ? AND fades_at <= ? LIMIT ?) RETURNING n`,
  removeAllExpired: `DELETE FROM holdfast_record WHERE n IN
                       (SELECT n FROM holdfast_record WHERE expires_at <= ? LIMIT ?) RETURNING n`,
  forgetIdle: `DELETE FROM holdfast_record_tally WHERE stored = 0 AND minute < ?`,
} as const;
