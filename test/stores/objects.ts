import { reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { directoryName, directoryShard } from "../../durable-objects/names";
import type { StorageBindings } from "../../durable-objects/rpc";
import type { Limits } from "../../src/service/limits";
import { decodeTaskId } from "../../src/task-id";
import { limits as defaults, movableClock } from "../support/memory";
import { setStage } from "./stage";
import { registry } from "./tools";

export const objects = env as unknown as StorageBindings;

/** An empty deployment: its store, its clock. */
export async function emptyDeployment(over: Partial<Limits> = {}) {
  await reset();
  const clock = movableClock();
  const limits = { ...defaults, ...over };
  setStage({ registry, limits, clock: clock.now });
  return { ...clock, store: durableTaskStore({ objects, limits, clock: clock.now }) };
}

export const taskOf = (id: string) => objects.TASKS.get(objects.TASKS.idFromString(decodeTaskId(id) as string));

export const indexNamed = (name: string) => objects.OWNERS.getByName(name);

export const directoryOf = (indexName: string) => objects.DIRECTORY.getByName(directoryName(directoryShard(indexName)));

/** Everything an object stores: its tables with their rows, what the platform keeps beside them, its alarm. */
export async function storedIn(stub: DurableObjectStub) {
  return runInDurableObject(stub, async (_, { storage }) => {
    const tables = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("_cf"));
    const rows = Object.fromEntries(
      own.map((name) => [name, storage.sql.exec(`SELECT * FROM ${name}`).toArray().map(legible)]),
    );
    return {
      rows,
      platform: tables.length - own.length,
      keys: [...storage.kv.list()].length,
      alarm: await storage.getAlarm(),
    };
  });
}

/** Bytes as text, one character each: quick to compare. */
const legible = (row: Record<string, SqlStorageValue>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [
      name,
      cell instanceof ArrayBuffer ? new TextDecoder("latin1").decode(cell) : cell,
    ]),
  );

export const NOTHING = { rows: {}, platform: 0, keys: 0, alarm: null };
