import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownerIndexUpgrades } from "../../durable-objects/owner-index-sql";
import { recordShelfSql, recordShelfUpgrades } from "../../durable-objects/record-shelf-sql";
import { toolsSql, toolsUpgrades } from "../../durable-objects/tools-object-sql";
import { Disk } from "../../scripts/crash/audit/disk";
import type { Audit } from "../../scripts/crash/audit/evidence";
import { nothing } from "../../scripts/crash/audit/nothing";
import { idOfName } from "../../scripts/crash/audit/object-names";
import { recordsKept } from "../../scripts/crash/audit/records";
import { documentsKept, toolsKept } from "../../scripts/crash/audit/registers";
import type { Storage, StoredWorkflow } from "../../scripts/crash/audit/storage";
import { ownEnds, workflows } from "../../scripts/crash/audit/workflows";
import { Register } from "../../scripts/crash/register";
import { AT, scene, type Scene } from "./crash-evidence";

const found = (audit: Audit, change: (it: Scene) => void, storage: Partial<Storage> = {}): readonly string[] => {
  const it = scene();
  change(it);
  const evidence = it.evidence();
  return audit({ ...evidence, storage: { ...evidence.storage, ...storage } }).map(({ says }) => says);
};

/** A record as its object keeps it, with what its document was at each version. */
const stored = (id: string, version: number, ...documents: readonly object[]) => ({
  namespace: "files",
  id,
  version,
  status: null,
  expiresAt: null,
  index: "i",
  mark: id,
  documents: new Map(documents.map((document, at) => [version - documents.length + 1 + at, JSON.stringify(document)])),
});

describe("a register", () => {
  it("may hold what was acknowledged last, and any write since whose answer was lost", () => {
    const register = new Register();
    expect([register.mayHold(null), register.mayHold("a")]).toEqual([true, false]);
    register.writing("a");
    expect([register.mayHold(null), register.mayHold("a"), register.isSure]).toEqual([true, true, false]);
    register.holds("a");
    expect([register.mayHold(null), register.mayHold("a"), register.isSure]).toEqual([false, true, true]);
    register.writing(null);
    expect(register.told()).toBe("a, or nothing");
  });
});

describe("the audit of saves", () => {
  const saved = ({ journal }: Scene) => journal.documents.of("files/d").holds("second");
  const documents = (...saves: readonly string[]) => ({
    records: [stored("d", saves.length, ...saves.map((save) => ({ save })))],
  });

  it("finds an acknowledged save that is lost, and a document that was removed", () => {
    expect(found(documentsKept, saved, documents("first", "second"))).toEqual([]);
    expect(found(documentsKept, saved, documents("first"))).toEqual([
      "The document files/d is to be second, and first is stored.",
    ]);
    expect(found(documentsKept, saved)).toEqual(["The document files/d is to be second, and nothing is stored."]);
    const lost = (it: Scene) => (saved(it), it.journal.documents.of("files/d").writing("third"));
    expect(found(documentsKept, lost, documents("first", "second", "third"))).toEqual([]);
    const removed = ({ journal }: Scene) => journal.documents.of("files/d").holds(null);
    expect(found(documentsKept, removed, documents("first"))).toEqual([
      "The document files/d is to be nothing, and first is stored.",
    ]);
  });

  it("finds a version that is not what was told of it, and a save that nobody sent", () => {
    const told = ({ journal }: Scene) =>
      void journal.records.acknowledged(
        { namespace: "files", as: "worker", query: "" },
        { id: "r", owner: null, version: 1, createdAt: 0, ttlMs: null, seq: 1, task: null, document: first },
      );
    const first = { counter: 0, save: "first" };
    expect(found(recordsKept, told, { records: [stored("r", 1, first)] })).toEqual([]);
    expect(found(recordsKept, told, { records: [stored("r", 1, { ...first, counter: 1 })] })[0]).toContain(
      'was told to be {"counter":0,"save":"first"} at version 1, and',
    );
    expect(found(recordsKept, told, { records: [stored("r", 2, first, { save: "odd" })] })).toEqual([
      'The record files/r has {"save":"odd"}, which nobody saved.',
    ]);
  });

  it("knows what a cleanup may take, and nothing else", () => {
    const seen = { id: "r", owner: null, version: 1, createdAt: 0, seq: 1, task: null, document: { counter: 0 } };
    const place = { namespace: "none", as: "worker", query: "" } as const;
    const lost = (endSent: number | null, limitMs: number, ttlMs: number | null = null, space = "none") =>
      found(recordsKept, ({ journal }) => {
        journal.records.acknowledged(place, { ...seen, ttlMs }).endSent = endSent;
        journal.records.cleanups.push({ space, limitMs, until: 1_000 });
      }).length;
    expect(lost(400, 600)).toBe(0);
    expect(lost(400, 601)).toBe(1);
    expect(lost(null, 0)).toBe(1);
    expect(lost(400, 0, AT * 2)).toBe(1);
    expect(lost(400, 0, null, "strict")).toBe(1);
  });
});

describe("the audit of tools", () => {
  const declared = (...tools: readonly string[]) => ({
    declared: new Map(tools.map((name) => [name, JSON.stringify({ name, description: "said" })])),
    counted: tools.length,
  });
  const known = ({ journal }: Scene) => journal.tools.of("t").holds("said");

  it("finds one that is lost, other than declared, back after its removal, or not counted", () => {
    expect(found(toolsKept, known, { tools: declared("t") })).toEqual([]);
    expect(found(toolsKept, known)).toEqual(["The tool t is to be said, and nothing is stored."]);
    const otherwise = ({ journal }: Scene) => journal.tools.of("t").holds("else");
    expect(found(toolsKept, otherwise, { tools: declared("t") })[0]).toContain("is to be else, and said is stored");
    const removed = ({ journal }: Scene) => journal.tools.of("t").holds(null);
    expect(found(toolsKept, removed, { tools: declared("t") })[0]).toContain("is to be nothing, and said is stored");
    expect(found(toolsKept, known, { tools: { ...declared("t"), counted: 2 } })).toEqual([
      "There are 1 tools, and 2 are counted.",
    ]);
    expect(found(nothing, () => {}, { tools: declared("t") })).toContain(
      "The tool t was removed, and is still declared.",
    );
  });
});

describe("the audit of Workflows", () => {
  const workflow = (task: string, more: Partial<StoredWorkflow> = {}): StoredWorkflow => ({
    task,
    ends: ["complete"],
    error: null,
    ...more,
  });
  const made = (...some: readonly StoredWorkflow[]) => ({ workflows: some });
  const asWorkflows = ({ tasks }: Scene) => {
    for (const task of tasks.values()) task.facts = { ...task.facts, tool: "workflow_errand" };
  };
  const both = [workflow("ended"), workflow("sleeping", { ends: [] })] as const;

  it("finds nothing where nothing is wrong", () => {
    expect(found(workflows, asWorkflows, made(...both))).toEqual([]);
    expect(found(workflows, () => {})).toEqual([]);
  });

  it("finds two for one task, one that failed, one that left its task, and a task that nobody began", () => {
    expect(found(workflows, () => {}, made(...both, workflow("ended")))).toEqual(["The task ended has 2 Workflows."]);
    const failed = workflow("ended", { ends: ["errored"], error: '"no"' });
    expect(found(workflows, () => {}, made(failed))).toEqual(['The Workflow of the task ended failed: "no".']);
    expect(found(workflows, () => {}, made(workflow("sleeping")))).toEqual([
      "The Workflow of the task sleeping is complete, and the task is working.",
    ]);
    expect(found(workflows, (it) => (it.now = AT * 100), made(workflow("sleeping")))).toEqual([]);
    expect(found(workflows, asWorkflows, made(both[0]))).toEqual([
      "The task sleeping was begun, and the engine has no Workflow of it.",
    ]);
  });

  it("finds an errand that something else ended", () => {
    expect(found(ownEnds, () => {})).toEqual([]);
    const error = { code: 0, message: "The Workflow that ran this task failed." };
    const fail = ({ tasks }: Scene) => {
      const { facts } = tasks.get("ended")!;
      const outcome = { kind: "error", error } as never;
      tasks.get("ended")!.facts = { ...facts, stage: { phase: "settled", outcome, settledAt: AT } };
    };
    expect(found(ownEnds, fail)).toEqual([
      `The task ended ended with what is not its own: ${error.message}`.concat("."),
    ]);
  });
});

describe("the disk", () => {
  let home: string;
  beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "crash-saves-"))));
  afterEach(() => rmSync(home, { recursive: true }));

  const object = (folder: string, write: (database: DatabaseSync) => void, id = "a".repeat(64)): void => {
    mkdirSync(join(home, folder), { recursive: true });
    const database = new DatabaseSync(join(home, folder, `${id}.sqlite`));
    write(database);
    database.close();
  };

  it("reads what a document was at each kept version", () => {
    object("do/a-RecordObject", (database) => {
      for (const upgrade of recordShelfUpgrades) database.exec(upgrade);
      const facts = { id: "=r", index: '["record","files"]', mark: "m", texts: { document: { version: 3 } } };
      const record = { version: 3, createdAt: 0, ttlMs: null, task: null };
      database.prepare(recordShelfSql.putFacts).run(JSON.stringify({ ...facts, record }));
      for (const version of [2, 3]) {
        database.prepare(recordShelfSql.addRevision).run(version, 0, 2);
        database.prepare(recordShelfSql.addText).run("document", version, 1, 8, Buffer.from(`${version}"`));
        database.prepare(recordShelfSql.addText).run("document", version, 0, 8, Buffer.from('"'));
      }
    });
    const documents = new Map([
      [2, '"2"'],
      [3, '"3"'],
    ]);
    expect(new Disk(join(home, "do"), join(home, "scratch")).read().records).toMatchObject([{ id: "r", documents }]);
  });

  it("knows an index that lost its name by who names it", () => {
    const name = '["record","files",null]';
    object(
      "do/a-OwnerIndex",
      (database) => {
        for (const upgrade of ownerIndexUpgrades) database.exec(upgrade);
      },
      idOfName("a-OwnerIndex", name),
    );
    object("do/a-RecordObject", (database) => {
      for (const upgrade of recordShelfUpgrades) database.exec(upgrade);
      const facts = { id: "r", index: name, mark: "m", record: null };
      database.prepare(recordShelfSql.putFacts).run(JSON.stringify(facts));
    });
    expect(new Disk(join(home, "do"), join(home, "scratch")).read().indexes).toMatchObject([{ name }]);
  });

  it("makes the ids of names as the platform does", () => {
    // As the local platform stored it.
    expect(idOfName("holdfast-owners-Directory", "directory-7")).toBe(
      "c95e510540cae0ac11f17c548ab081218a7a59b052d754c0a9f154ecec8334af",
    );
  });

  it("reads tools, and Workflows from the engine's own folder", () => {
    object("do/a-ToolsObject", (database) => {
      for (const upgrade of toolsUpgrades) database.exec(upgrade);
      database.prepare(toolsSql.put).run("t", "{}");
      database.prepare(toolsSql.change).run(1);
    });
    object("workflows/the-engine", (database) => {
      database.exec("CREATE TABLE states (id INTEGER PRIMARY KEY, event INTEGER, metadata TEXT)");
      const add = database.prepare("INSERT INTO states (event, metadata) VALUES (?, ?)");
      add.run(0, '{"params":{"id":"t"}}');
      add.run(3, '{"error":"no"}');
    });
    expect(new Disk(join(home, "do"), join(home, "scratch")).read()).toMatchObject({
      tools: { declared: new Map([["t", "{}"]]), counted: 1 },
      workflows: [{ task: "t", ends: ["errored"], error: '"no"' }],
    });
  });
});
