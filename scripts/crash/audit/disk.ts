// What lies on the disk, read without any of the product's own code.
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { LogEntry } from "../../../src/task/task.ts";
import { idOfName } from "./object-names.ts";
import type { Storage, StoredIndex, StoredTask } from "./storage.ts";
import { queuedIn, recordIn, toolsIn } from "./stored-records.ts";
import { workflowIn } from "./stored-workflows.ts";

type Row = Readonly<Record<string, unknown>>;
/** All rows of a table, and none of one that is not there. */
export type Rows = (table: string) => readonly Row[];
type Seen = { readonly stamp: string; readonly found: unknown };

/**
 * The objects of a server that is dead. Copies are read, so that what its next life finds is what the last one left; and
 * only of what has changed since the last time.
 */
export class Disk {
  readonly #root: string;
  readonly #scratch: string;
  readonly #seen = new Map<string, Seen>();

  /** `root` holds a folder for each class, and that a database for each object. */
  constructor(root: string, scratch: string) {
    this.#root = root;
    this.#scratch = scratch;
  }

  read(): Storage {
    const found = this.#objects("TaskObject", (rows, object) => taskIn(rows) ?? (isEmpty(rows) ? null : object));
    const tasks = found.filter((it) => it !== null && typeof it !== "string");
    const entries = this.#objects("Directory", (rows) => rows("owner")).flat();
    const [tools] = this.#objects("ToolsObject", toolsIn).filter((it) => it !== null);
    const workflows = this.#in(this.#engine(), workflowIn).filter((it) => it !== null);
    const records = this.#objects("RecordObject", recordIn).filter((record) => record !== null);
    const directory = new Map(entries.map(({ name, due }) => [String(name), Number(due)]));
    return {
      tasks: new Map(tasks.map((task) => [task.id, task])),
      remains: found.filter((it) => typeof it === "string"),
      indexes: this.#indexes([...directory.keys(), ...records.map(({ index }) => index)]),
      records,
      queued: this.#objects("QueueObject", queuedIn).flat(),
      directory,
      ...(workflows.length === 0 ? {} : { workflows }),
      ...(tools ? { tools } : {}),
    };
  }

  /** One without its name is one of those that others name. */
  #indexes(names: readonly string[]): readonly StoredIndex[] {
    const folder = this.#folder("OwnerIndex") ?? "";
    const known = new Map([...new Set(names)].map((name) => [idOfName(folder, name), name]));
    return this.#objects("OwnerIndex", indexIn).flatMap((index) =>
      index ? [{ ...index, name: known.get(index.name) ?? index.name }] : [],
    );
  }

  #folder(className: string): string | undefined {
    return readdirSync(this.#root).find((name) => name.endsWith(`-${className}`));
  }

  #objects<T>(className: string, read: (rows: Rows, object: string) => T): readonly T[] {
    const folder = this.#folder(className);
    return this.#in(folder === undefined ? null : join(this.#root, folder), read);
  }

  /** The folder with an object for each Workflow, which the engine has beside those of the Worker. */
  #engine(): string | null {
    const folder = join(this.#root, "..", "workflows");
    const [name] = existsSync(folder) ? readdirSync(folder) : [];
    return name === undefined ? null : join(folder, name);
  }

  #in<T>(folder: string | null, read: (rows: Rows, object: string) => T): readonly T[] {
    if (folder === null) return [];
    return readdirSync(folder).flatMap((file) => {
      const object = /^([0-9a-f]{64})\.sqlite$/.exec(file)?.[1];
      if (object === undefined) return [];
      const path = join(folder, file);
      const stamp = stampOf(path);
      const seen = this.#seen.get(path);
      if (seen?.stamp === stamp) return [seen.found as T];
      const found = this.#read(path, (rows) => read(rows, object));
      this.#seen.set(path, { stamp, found });
      return [found];
    });
  }

  #read<T>(path: string, read: (rows: Rows) => T): T {
    mkdirSync(this.#scratch, { recursive: true });
    const copy = join(this.#scratch, "object.sqlite");
    for (const part of PARTS) if (existsSync(path + part)) copyFileSync(path + part, copy + part);
    const database = new DatabaseSync(copy);
    try {
      // A copy need not last.
      database.exec("PRAGMA synchronous = OFF");
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const names = new Set(tables.map(({ name }) => name));
      return read((table) => (names.has(table) ? allOf(database, table) : []));
    } finally {
      database.close();
      rmSync(this.#scratch, { recursive: true });
    }
  }
}

/** What was committed last may lie in the log beside it. */
const PARTS = ["", "-wal"] as const;

const stampOf = (path: string): string =>
  PARTS.map((part) => {
    const stat = statSync(path + part, { bigint: true, throwIfNoEntry: false });
    return stat ? `${stat.mtimeNs} ${stat.size}` : "none";
  }).join(", ");

function allOf(database: DatabaseSync, table: string): readonly Row[] {
  const statement = database.prepare(`SELECT * FROM ${table}`);
  // The platform's alarms are in ns, more than a number holds.
  statement.setReadBigInts(true);
  return statement.all();
}

const isEmpty = (rows: Rows): boolean => ["record", "value", "log"].every((table) => rows(table).length === 0);

function taskIn(rows: Rows): StoredTask | null {
  const parts = rows("record").toSorted((a, b) => Number(a["part"]) - Number(b["part"]));
  if (parts.length === 0) return null;
  const bytes = Buffer.concat(parts.map((part) => part["bytes"] as Uint8Array));
  const { task: facts } = JSON.parse(bytes.toString()) as { readonly task: StoredTask["facts"] };
  const values = Map.groupBy(
    rows("value").toSorted((a, b) => Number(a["n"]) - Number(b["n"])),
    ({ slot }) => String(slot),
  );
  const [alarm] = rows("_cf_METADATA").filter(({ key }) => key === 1n);
  return {
    id: facts.id,
    facts,
    values: new Map(
      [...values].map(([slot, some]) => [slot, some.map((row) => Buffer.from(row["bytes"] as Uint8Array).toString())]),
    ),
    log: rows("log")
      .toSorted((a, b) => Number(a["seq"]) - Number(b["seq"]))
      .map(({ entry }) => JSON.parse(String(entry)) as LogEntry),
    alarm: typeof alarm?.["value"] === "bigint" ? Number(alarm["value"] / 1_000_000n) : null,
  };
}

/** Its id stands in for a name that it does not have. */
function indexIn(rows: Rows, object: string): StoredIndex | null {
  const [named] = rows("__miniflare_do_name");
  const [tally] = rows("tally");
  if (!tally) return null;
  return {
    name: String(named?.["name"] ?? object),
    rows: rows("task").map(({ id, phase, outcome, version, due, mark, status }) => ({
      id: String(id),
      phase: String(phase),
      outcome: outcome === null ? null : String(outcome),
      version: Number(version),
      due: due === null ? null : Number(due),
      mark: typeof mark === "string" ? mark : null,
      ...(typeof status === "string" ? { status } : {}),
    })),
    tally: { stored: Number(tally["stored"]), live: Number(tally["live"]) },
  };
}
