import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { queueSql, queueUpgrades } from "../../durable-objects/queue-sql";
import { recordShelfSql, recordShelfUpgrades } from "../../durable-objects/record-shelf-sql";
import { Disk } from "../../scripts/crash/audit/disk";
import type { Audit } from "../../scripts/crash/audit/evidence";
import { nothing } from "../../scripts/crash/audit/nothing";
import { recordRows, recordsAtRest, recordsKept } from "../../scripts/crash/audit/records";
import { queues, work } from "../../scripts/crash/audit/work";
import { reportOf, scene, type Scene } from "./crash-evidence";

const LATER = 9_000_000;
const PLACE = { namespace: "default", as: "owner-a", query: "" } as const;
const SPACE = '["record","default","o"]';
const ROW = { id: "=r", phase: "working", outcome: null, version: 1, due: LATER, mark: "m", status: "working" };
const seen = (version = 2, status = "working", counter = 0) => ({
  id: "r",
  owner: "o",
  version,
  createdAt: 0,
  ttlMs: LATER,
  seq: version,
  task: { status, inputRequests: {} },
  document: { counter },
});

/** A record that was acknowledged, its object and its row; then one thing is broken. */
function broken(change: (scene: Scene) => void, audit: Audit): readonly string[] {
  const it = scene();
  it.journal.records.acknowledged(PLACE, seen());
  const stored = { namespace: "default", id: "r", version: 2, status: "working", expiresAt: LATER };
  it.records.push({ ...stored, index: SPACE, mark: "m" });
  const rows = [{ ...ROW }];
  change(it);
  const evidence = it.evidence();
  const index = { name: SPACE, rows, tally: { stored: 1, live: 1 } };
  const records = it.records.length === 0 ? [] : [index];
  return audit({
    ...evidence,
    storage: { ...evidence.storage, indexes: [...evidence.storage.indexes, ...records] },
  }).map(({ says }) => says);
}
const stored = ({ records }: Scene) => records[0]!;
const known = ({ journal }: Scene) => journal.records.all.get("default/r")!;

describe("the audit of records", () => {
  it("finds nothing where nothing is wrong", () => {
    for (const audit of [recordsKept, recordRows, recordsAtRest]) expect(broken(() => {}, audit)).toEqual([]);
  });

  it("finds one that is lost, older than was told, ended otherwise, or back after its removal", () => {
    const lose = (it: Scene) => void it.records.splice(0);
    expect(broken(lose, recordsKept)).toEqual(["The record default/r was acknowledged, and is not stored."]);
    expect(broken((it) => (lose(it), (it.now = LATER)), recordsKept)).toEqual([]);
    expect(broken((it) => (lose(it), (known(it).removed = "maybe")), recordsKept)).toEqual([]);
    expect(broken((it) => (stored(it).version = 1), recordsKept)[0]).toContain("seen at version 2, and is at 1");
    expect(broken((it) => (known(it).final = "failed"), recordsKept)[0]).toContain(
      "seen failed, and is stored working",
    );
    expect(broken((it) => (known(it).removed = "yes"), recordsKept)[0]).toContain("was removed, and is stored");
  });

  it("finds one without its row, a row that says what is not so, and what should be gone", () => {
    expect(broken((it) => (stored(it).mark = "other"), recordRows)[0]).toContain("has no row in");
    expect(broken((it) => (stored(it).version = 0), recordRows)[0]).toContain(
      "is at version 1, and the record only at 0",
    );
    expect(broken((it) => (stored(it).mark = "other"), recordsAtRest)[0]).toContain("has no record");
    expect(broken((it) => (stored(it).status = "failed"), recordsAtRest)[0]).toContain('and the record "failed"');
    expect(broken((it) => (stored(it).version = null), recordsAtRest)[0]).toContain("its remains are stored");
    expect(broken((it) => (it.now = LATER), recordsAtRest)[0]).toContain("expired, and is stored");
    expect(broken(() => {}, nothing).join()).toContain("The record default/r has expired, and is still stored.");
  });
});

describe("the log of records", () => {
  const says = (...sights: readonly (readonly [ReturnType<typeof seen>, least: number])[]): readonly string[] => {
    const { journal } = scene();
    const record = journal.records.acknowledged(PLACE, seen());
    for (const [sight, least] of sights) journal.records.saw(record, sight, least);
    return journal.findings.map((finding) => finding.says);
  };

  it("holds a record to its newest version, to what each version was, and to its end", () => {
    expect(says([seen(3), 2], [seen(2), 2])).toEqual([]);
    expect(says([seen(3), 2], [seen(2), 3])[0]).toContain("was at version 3, and then at 2.");
    expect(says([seen(2, "working", 1), 2])[0]).toContain("at version 2 read");
    expect(says([seen(3, "failed"), 2], [seen(4, "completed"), 3])[0]).toContain(
      "ended as failed, and then as completed",
    );
  });

  it("misses one that was not removed and has not expired", () => {
    const { journal } = scene();
    const record = journal.records.acknowledged(PLACE, seen());
    journal.records.missing(record, LATER);
    expect(journal.findings).toEqual([]);
    journal.records.missing(record, LATER - 1);
    expect(journal.findings[0]?.says).toBe("The record default/r was acknowledged, and is not found.");
  });
});

describe("the audit of work", () => {
  const end = reportOf("ended");

  it("finds an end that nobody told, or that was turned down", () => {
    expect(broken((it) => it.journal.work.ending("ended", end), work)).toEqual([]);
    expect(broken((it) => it.journal.work.ending("ended", "other"), work)[0]).toContain("as no worker ever told");
    const refuse = ({ journal }: Scene) => (journal.work.ending("ended", end), journal.work.refused("ended", end));
    expect(broken(refuse, work)[0]).toContain("as a lease told it that was not in force");
  });

  it("finds what a queue has left", () => {
    expect(broken((it) => void it.queued.push({ queue: "remote", id: "ended" }), queues)).toEqual([
      "The queue remote still has ended, which is settled.",
    ]);
  });
});

describe("the disk", () => {
  it("reads records, removed ones too, and queues", () => {
    const home = mkdtempSync(join(tmpdir(), "crash-store-"));
    const object = (className: string, id: string, write: (database: DatabaseSync) => void): void => {
      const folder = join(home, "do", `a-worker-${className}`);
      mkdirSync(folder, { recursive: true });
      const database = new DatabaseSync(join(folder, `${id.repeat(64)}.sqlite`));
      write(database);
      database.close();
    };
    const record = (facts: object) => (database: DatabaseSync) => {
      for (const upgrade of recordShelfUpgrades) database.exec(upgrade);
      database.prepare(recordShelfSql.putFacts).run(JSON.stringify({ index: SPACE, mark: "m", ...facts }));
    };
    try {
      const live = { version: 2, createdAt: 5, ttlMs: 7, task: { status: "failed" } };
      object("RecordObject", "a", record({ id: "=r", record: live }));
      object("RecordObject", "b", record({ id: "removed", record: null }));
      object("RecordObject", "c", () => {});
      object("QueueObject", "a", (database) => {
        for (const upgrade of queueUpgrades) database.exec(upgrade);
        database.exec("CREATE TABLE __miniflare_do_name (id INTEGER, name TEXT)");
        database.exec("INSERT INTO __miniflare_do_name VALUES (1, 'remote')");
        database.prepare(queueSql.add).run("t", "o", "remote", 1);
      });
      const place = { namespace: "default", index: SPACE, mark: "m" };
      expect(new Disk(join(home, "do"), join(home, "scratch")).read()).toMatchObject({
        records: [
          { ...place, id: "r", version: 2, status: "failed", expiresAt: 12 },
          { ...place, id: "removed", version: null, status: null, expiresAt: null },
        ],
        queued: [{ queue: "remote", id: "t" }],
      });
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
