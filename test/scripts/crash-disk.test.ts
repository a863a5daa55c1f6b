import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { directorySql, directoryUpgrades } from "../../durable-objects/directory-sql";
import { ownerIndexUpgrades } from "../../durable-objects/owner-index-sql";
import { taskShelfSql, taskShelfUpgrades } from "../../durable-objects/task-shelf-sql";
import { Disk } from "../../scripts/crash/audit/disk";
import { randomFrom } from "../../scripts/crash/random";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "crash-disk-"))));
afterEach(() => rmSync(home, { recursive: true }));

const disk = () => new Disk(join(home, "do"), join(home, "scratch"));

/** As the platform keeps an object: a database in the folder of its class. */
function object(className: string, id: string, write: (database: DatabaseSync) => void): void {
  const folder = join(home, "do", `a-worker-${className}`);
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, `${id.repeat(64)}.sqlite`));
  database.exec("PRAGMA journal_mode = WAL");
  write(database);
  database.close();
}

const bytes = (text: string) => Buffer.from(text);

describe("the disk", () => {
  it("reads a task with its long texts, its log and its alarm", () => {
    object("TaskObject", "a", (database) => {
      for (const upgrade of taskShelfUpgrades) database.exec(upgrade);
      const [first, second] = ['{"task":{"id":"t", "ver', 'sion":3},"progressed":null}'];
      database.prepare(taskShelfSql.putRecord).run(1, bytes(second));
      database.prepare(taskShelfSql.putRecord).run(0, bytes(first));
      database.prepare(taskShelfSql.addValue).run(2, '["step","one"]', 8, bytes("cd"));
      database.prepare(taskShelfSql.addValue).run(1, '["step","one"]', 8, bytes("ab"));
      database.prepare(taskShelfSql.addEntry).run(2, '{"seq":2}');
      database.prepare(taskShelfSql.addEntry).run(1, '{"seq":1}');
      database.exec("CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)");
      database.prepare("INSERT INTO _cf_METADATA VALUES (1, ?)").run(1_796_011_529_077_000_000n);
    });
    expect([...disk().read().tasks.values()]).toEqual([
      {
        id: "t",
        facts: { id: "t", version: 3 },
        values: new Map([['["step","one"]', ["ab", "cd"]]]),
        log: [{ seq: 1 }, { seq: 2 }],
        alarm: 1_796_011_529_077,
      },
    ]);
  });

  it("tells remains of a task from an object that holds nothing", () => {
    const empty = (database: DatabaseSync) => database.exec(taskShelfUpgrades.join(""));
    object("TaskObject", "a", empty);
    object("TaskObject", "b", () => {});
    object("TaskObject", "c", (database) => {
      empty(database);
      database.prepare(taskShelfSql.addEntry).run(1, "{}");
    });
    expect(disk().read()).toMatchObject({ tasks: new Map(), remains: ["c".repeat(64)] });
  });

  it("reads indexes with their rows and counters, and the directory", () => {
    object("OwnerIndex", "a", (database) => {
      for (const upgrade of ownerIndexUpgrades) database.exec(upgrade);
      database.exec(
        "CREATE TABLE __miniflare_do_name (id INTEGER, name TEXT); INSERT INTO __miniflare_do_name VALUES (1, 'mine')",
      );
      database.exec(
        "INSERT INTO task (id, created_at, tool, origin, phase, status_at, version, due, deadline) VALUES ('t', 1, 'errand', 'm', 'working', 1, 4, 9, 2)",
      );
      database.exec("UPDATE tally SET stored = 1, live = 1");
    });
    object("OwnerIndex", "b", () => {});
    object("Directory", "a", (database) => {
      for (const upgrade of directoryUpgrades) database.exec(upgrade);
      database.prepare(directorySql.note).run("mine", 7, "mark");
    });
    const row = { id: "t", phase: "working", outcome: null, version: 4, due: 9, mark: null };
    expect(disk().read()).toMatchObject({
      indexes: [{ name: "mine", rows: [row], tally: { stored: 1, live: 1 } }],
      directory: new Map([["mine", 7]]),
    });
  });

  it("sees what has changed since it last looked, and leaves what it read as it was", () => {
    const set = (tasks: string) => (database: DatabaseSync) =>
      database.exec(
        `CREATE TABLE IF NOT EXISTS owner (name TEXT, due INTEGER); DELETE FROM owner; INSERT INTO owner VALUES ('${tasks}', 1)`,
      );
    object("Directory", "a", set("first"));
    const looking = disk();
    expect([...looking.read().directory.keys()]).toEqual(["first"]);
    object("Directory", "a", set("second"));
    expect([...looking.read().directory.keys()]).toEqual(["second"]);
  });
});

describe("chance", () => {
  const draw = (seed: number, name: string) => Array.from({ length: 5 }, randomFrom(seed).fork(name).next);

  it("is the same for the same seed, and another for each who draws", () => {
    expect(draw(1, "killer")).toEqual(draw(1, "killer"));
    expect(draw(1, "killer")).not.toEqual(draw(2, "killer"));
    expect(draw(1, "killer")).not.toEqual(draw(1, "clients"));
  });
});
