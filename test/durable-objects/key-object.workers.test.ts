import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { mintedKey, type KeyObject } from "../../durable-objects/key-object";
import { createSealer } from "../../src/seal";

// `wrangler types` knows the binding, not the class behind it.
const keys = env.KEYS as unknown as DurableObjectNamespace<KeyObject>;

it("mints one key of 32 bytes, however many ask first", async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => mintedKey(keys)));
  expect(new Set(answers).size).toBe(1);
  expect(answers[0]).toMatch(/^[0-9a-f]{64}$/);
});

it("gives the same key after the object was restarted", async () => {
  const before = await mintedKey(keys);
  await evictDurableObject(keys.getByName("sealing"));
  expect(await mintedKey(keys)).toBe(before);
});

it("mints another key for another object", async () => {
  expect(await keys.getByName("elsewhere").sealingKey()).not.toBe(await mintedKey(keys));
});

it("seals what another isolate opens", async () => {
  const secret = () => mintedKey(keys);
  const token = await createSealer(secret, () => 0).seal("state", { a: [1] }, "ann", 1);
  const elsewhere = createSealer(secret, () => 0);
  expect(await elsewhere.open("state", token, "ann")).toEqual({ a: [1] });
  expect(await elsewhere.open("state", token, "bob")).toBeNull();
});
