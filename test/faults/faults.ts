// What goes wrong between any two lines: objects that vanish, calls that do not arrive; and what must hold once it is over.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import { Directory } from "../../durable-objects/directory";
import { directoryName, directoryShard, ownerIndexName } from "../../durable-objects/names";
import { OwnerIndex } from "../../durable-objects/owner-index";
import type { StorageBindings } from "../../durable-objects/rpc";
import { TaskObject } from "../stores/worker";
import type { TaskSnapshot, TaskStore } from "../../src/service/task-store";
import { TaskError } from "../../src/task/errors";
import type { TaskDraft } from "../../src/task/task";
import { directoryOf, type emptyDeployment, indexNamed, storedIn, taskOf } from "../stores/objects";
import { draft } from "../support/task";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const INDEX = ownerIndexName("n", "o", "");

export type Deployment = Awaited<ReturnType<typeof emptyDeployment>>;

export const refTo = (id: string) => ({ id, owner: "o" });

export const draftFor = ({ store, now }: Deployment, tool: string, facts: Partial<TaskDraft> = {}): TaskDraft =>
  draft({ id: store.mint(), namespace: "n", owner: "o", tool, createdAt: now(), ttlMs: 24 * HOUR, ...facts });

export async function created(deployment: Deployment, tool: string, facts: Partial<TaskDraft> = {}): Promise<string> {
  const made = await deployment.store.create(draftFor(deployment, tool, facts));
  if (made.kind !== "created") throw new Error(`Not created: ${made.kind}`);
  return made.task.id;
}

/** The task once its stage says so: a phase, or what it is busy with. */
export const until = (store: TaskStore, id: string, word: string): Promise<TaskSnapshot> =>
  vi.waitUntil(
    async () => {
      const task = await store.read(refTo(id));
      return task && JSON.stringify(task.stage).includes(`"${word}"`) && task;
    },
    { timeout: 20_000 },
  ) as Promise<TaskSnapshot>;

export const rowOf = async (store: TaskStore, id: string) =>
  (await store.list({ namespace: "n", owner: "o", limit: 100 })).rows.find((row) => row.id === id);

export type Victim = "task" | "index" | "directory";

export const victimsOf = (victims: readonly Victim[], id: string): readonly DurableObjectStub[] =>
  victims.map((victim) => ({ task: taskOf(id), index: indexNamed(INDEX), directory: directoryOf(INDEX) })[victim]);

/** Out of memory, whether or not it was in it. */
export const evict = (stub: DurableObjectStub): Promise<void> => evictDurableObject(stub).catch(() => {});

/** The process dies in the middle of whatever it does; what was committed stays. */
export const crash = (stub: DurableObjectStub): Promise<void> =>
  runInDurableObject(stub, (_, state) => state.abort("crash")).catch(() => {});

export const loseAlarm = (id: string): Promise<void> =>
  runInDurableObject(taskOf(id), async (_, { storage }) => {
    await storage.deleteAlarm();
    await storage.sync();
  });

/** Whether it is one of the directory's objects that has nothing to do with these tests. */
export const isElsewhere = (object: unknown): boolean =>
  typeof object === "string" && object.startsWith(directoryName(0).slice(0, -1)) && object !== OUR_SHARD;

const OUR_SHARD = directoryName(directoryShard(INDEX));

type Method = (...args: unknown[]) => Promise<unknown>;

/** The bindings, with something that happens before each call of an object goes out; it may throw in the call's place. */
export function interposed(
  objects: StorageBindings,
  before: (method: string, object: unknown) => Promise<void>,
): StorageBindings {
  const stubOf = (stub: object, object: unknown) =>
    new Proxy(stub, {
      get:
        (target, method: string) =>
        async (...args: unknown[]) => {
          await before(method, object);
          return (Reflect.get(target, method) as Method)(...args);
        },
    });
  const namespaceOf = (namespace: object) =>
    new Proxy(namespace, {
      get: (target, name) => {
        const made = (Reflect.get(target, name) as (...args: unknown[]) => object).bind(target);
        return name === "get" || name === "getByName" ? (...args: unknown[]) => stubOf(made(...args), args[0]) : made;
      },
    });
  return new Proxy(objects, { get: (target, name) => namespaceOf(Reflect.get(target, name) as object) });
}

/** The calls that change something, or lead to it, by where they arrive. */
const ARRIVALS = [
  [TaskObject.prototype, ["create", "tell", "work", "examine", "alarm"]],
  [OwnerIndex.prototype, ["reserve", "release", "mirror", "due", "swept"]],
  [Directory.prototype, ["note", "due", "settle"]],
] as const;

/** Holds the n-th call that arrives at any object, whoever makes it, until it is let go. */
export function holdArrival(nth: number) {
  let seen = 0;
  let held: string | null = null;
  let isOpen = false;
  for (const [prototype, methods] of ARRIVALS) {
    for (const method of methods) {
      const target = prototype as unknown as Record<string, Method>;
      const original = target[method] as Method;
      vi.spyOn(target, method).mockImplementation(async function (this: unknown, ...args) {
        if (isElsewhere((this as { readonly ctx: DurableObjectState }).ctx.id.name)) return original.apply(this, args);
        seen += 1;
        if (seen === nth) {
          held = method;
          // No promise crosses from one object to another: each looks by itself.
          while (!isOpen) await new Promise((resolve) => setTimeout(resolve, 2));
        }
        return original.apply(this, args);
      });
    }
  }
  return { held: () => held, open: () => void (isOpen = true) };
}

export type Answer<T> = { readonly value: T } | { readonly error: unknown };

export const answerOf = <T>(doing: Promise<T>): Promise<Answer<T>> =>
  doing.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

/** A fault of the platform's may reach the caller only as the request to try again. */
export function expectRetryable(answer: Answer<unknown>): void {
  if (!("error" in answer)) return;
  expect(answer.error).toBeInstanceOf(TaskError);
  expect(answer.error).toMatchObject({ code: "overloaded", data: { retryAfterMs: expect.any(Number) as number } });
}

/** Time passes: alarms run, the cron comes by. */
export async function rest({ store, advance }: Deployment, ids: readonly string[]): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    for (const id of ids) {
      await runDurableObjectAlarm(taskOf(id));
      const alive = async () => (await store.read(refTo(id)))?.stage.phase ?? "gone";
      await expect.poll(alive, { timeout: 20_000 }).toMatch(/^(settled|input_required|gone)$/);
    }
    expect(await store.sweep(1_000)).toMatchObject({ failures: 0, finished: true });
    advance(3 * MINUTE);
  }
}

const ENDS = new Set(["settled", "cancelled", "expired"]);

/** Rows and counters fit each other and the tasks; nothing ended twice; what has ended needs no alarm. */
export async function expectSound(store: TaskStore, ids: readonly string[]): Promise<void> {
  const { rows } = await storedIn(indexNamed(INDEX));
  const stored = rows["task"] ?? [];
  const live = stored.filter((row) => row["phase"] !== "settled").length;
  const tally = rows["tally"]?.[0] ?? { stored: 0, live: 0 };
  expect({ stored: tally["stored"], live: tally["live"] }).toEqual({ stored: stored.length, live });
  for (const id of ids) {
    const task = await store.read(refTo(id));
    const outcome = task?.stage.phase === "settled" ? task.stage.outcome.kind : null;
    const row = task && { id, phase: task.stage.phase, outcome, version: task.version };
    expect(stored.filter((found) => found["id"] === id)).toMatchObject(row ? [row] : []);
    const kept = await storedIn(taskOf(id));
    const log = (kept.rows["log"] ?? []).map(
      (line) => JSON.parse(String(line["entry"])) as { event: string; phase: string },
    );
    expect(log.filter(({ event, phase }) => ENDS.has(event) || phase === "settled")).toHaveLength(outcome ? 1 : 0);
    if (outcome || !task) expect(kept.alarm).toBeNull();
  }
  expect(stored.filter((row) => !ids.includes(String(row["id"])))).toEqual([]);
}
