import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { Schema } from "../../durable-objects/schema";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";

const FIRST = "CREATE TABLE one (n INTEGER PRIMARY KEY); INSERT INTO one (n) VALUES (1);";
const SECOND = "ALTER TABLE one ADD COLUMN text TEXT; UPDATE one SET text = 'upgraded';";

/** Each use is a new incarnation of the object, with the code of its deploy. */
async function anObject() {
  await emptyDeployment();
  const stub = objects.TASKS.get(objects.TASKS.newUniqueId());
  const deploy = <T>(upgrades: readonly string[], use: (schema: Schema) => T | Promise<T>): Promise<T> =>
    runInDurableObject(stub, (_, { storage }) => use(new Schema(storage, upgrades, {})));
  return { deploy, rows: async () => (await storedIn(stub)).rows, stored: () => storedIn(stub) };
}

const create = (schema: Schema) => schema.transaction(() => schema.create());

describe("a schema", () => {
  it("is made when it is needed, once", async () => {
    const { deploy, rows, stored } = await anObject();
    expect(await deploy([FIRST], (schema) => schema.exists())).toBe(false);
    expect(await stored()).toEqual(NOTHING);
    await deploy([FIRST], create);
    await deploy([FIRST], create);
    expect(await deploy([FIRST], (schema) => schema.exists())).toBe(true);
    expect(await rows()).toEqual({ one: [{ n: 1 }] });
  });

  it("brings what an earlier deploy left up to date, and leaves what a later one left alone", async () => {
    const { deploy, rows } = await anObject();
    await deploy([FIRST], create);
    expect(await deploy([FIRST, SECOND], (schema) => schema.exists())).toBe(true);
    expect(await rows()).toEqual({ one: [{ n: 1, text: "upgraded" }] });
    expect(await deploy([FIRST], (schema) => schema.exists())).toBe(true);
    expect(await deploy([FIRST, SECOND], (schema) => schema.exists())).toBe(true);
    expect(await rows()).toEqual({ one: [{ n: 1, text: "upgraded" }] });
  });

  it("is gone after a wipe, and not believed in after a write that was undone", async () => {
    const { deploy, stored } = await anObject();
    await deploy([FIRST], async (schema) => {
      create(schema);
      expect(schema.exists()).toBe(true);
      await schema.wipe();
      expect(schema.exists()).toBe(false);
      const undone = () =>
        schema.transaction(() => {
          schema.create();
          if (schema.exists()) throw new Error("undo");
        });
      expect(undone).toThrow("undo");
      expect(schema.exists()).toBe(false);
    });
    expect(await stored()).toEqual(NOTHING);
  });
});
