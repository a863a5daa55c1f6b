import { reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { memoryObjectStore } from "../../durable-objects/memory-object";
import type { Bindings } from "../../durable-objects/wiring";
import type { TaskFeedMessage } from "../../src/service/task-store";
import { limits, movableClock } from "../support/memory";
import { draft } from "../support/task";
import { describeTaskStore } from "./contract";
import { setStage, type StoreParts } from "./stage";
import { registry } from "./tools";

const objects = env as unknown as Bindings;

async function emptyStore(parts: StoreParts) {
  await reset();
  setStage(parts);
  return memoryObjectStore(objects);
}

// All that a store does while it lives holds here too.
describeTaskStore("the memory store in its object", emptyStore);

it("has lost every task, key and row of the memory store when its object goes, and tells whoever watched", async () => {
  const { now } = movableClock();
  const store = await emptyStore({ registry, limits, clock: now });
  const wanted = (id = store.mint()) => draft({ id, namespace: "n", owner: "o", tool: "hang", createdAt: now() });
  const key = { key: "k", digest: "d" };
  const once = wanted();
  const ref = { id: once.id, owner: "o" };
  await store.create(once, key);
  const feed = await store.watch(ref, { signal: AbortSignal.timeout(10_000) });
  const messages: TaskFeedMessage[] = [];
  const watched = (async () => {
    for await (const message of feed ?? []) messages.push(message);
  })();
  await expect.poll(() => messages.length).toBeGreaterThan(0);

  const object = () => objects.MEMORY.getByName("memory");
  await runInDurableObject(object(), (_, state) => state.abort("A deploy.")).catch(() => {});

  // What calls in at that very moment fails; whoever calls again finds a new object.
  await expect.poll(() => store.read(ref).catch(() => "failed")).toBeNull();
  expect(await store.tell(ref, { kind: "cancel" })).toBeNull();
  expect(await store.list({ namespace: "n", owner: "o", limit: 10 })).toEqual({ rows: [], more: false });
  await watched;
  expect(messages.at(-1)).toEqual({ kind: "gone" });
  expect(await store.create(wanted(), { ...key, digest: "other" })).toMatchObject({ kind: "created" });
  expect(await runInDurableObject(object(), (_, { storage }) => [...storage.kv.list()])).toEqual([]);
});
