import { evictAllDurableObjects, listDurableObjectIds, reset, runInDurableObject } from "cloudflare:test";
import { durableRecordStore } from "../../durable-objects/durable-record-store";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { recordIndexName, recordName, type RecordSpace } from "../../durable-objects/names";
import type { Namespace } from "../../src/record/record";
import type { Limits } from "../../src/service/limits";
import { decodeTaskId } from "../../src/task-id";
import { NAMESPACES } from "../kit/memory-subject";
import { limits as defaults, movableClock } from "../support/memory";
import { indexNamed, objects } from "./objects";
import { setStage } from "./stage";
import { registry } from "./tools";

export type LogLine = { readonly level: string; readonly message: string; readonly data: object };

/** An empty deployment: its records, the sweep of its tasks' store, its clock, its log. */
export async function emptyRecords(over: Partial<Limits> = {}) {
  await reset();
  const clock = movableClock();
  const limits = { ...defaults, ...over };
  const lines: LogLine[] = [];
  setStage({
    registry,
    limits,
    clock: clock.now,
    log: (level, message, data) => void lines.push({ level, message, data }),
  });
  const parts = { objects, limits, clock: clock.now };
  const tasks = durableTaskStore(parts);
  return { clock, limits, lines, records: durableRecordStore(parts), sweep: (budget = 1_000) => tasks.sweep(budget) };
}

export const namespaceNamed = (name: string): Namespace => NAMESPACES.find((one) => one.name === name) as Namespace;

export const indexOfSpace = (space: RecordSpace, shard?: number) => indexNamed(recordIndexName(space, shard));

/** The object of an id of a caller's choice. */
export const recordNamed = (space: RecordSpace, id: string) => objects.RECORDS.getByName(recordName(space, id));

export const recordMinted = (id: string) =>
  objects.RECORDS.get(objects.RECORDS.idFromString(decodeTaskId(id) as string));

/** Each object begins anew. They are woken, as `reset` would not empty those that sleep: the next test would meet them. */
export async function evictAll(): Promise<void> {
  await evictAllDurableObjects();
  for (const namespace of [objects.RECORDS, objects.OWNERS, objects.DIRECTORY]) {
    const ids = await listDurableObjectIds(namespace);
    await Promise.all(ids.map((id) => runInDurableObject(namespace.get(id), () => {})));
  }
}
