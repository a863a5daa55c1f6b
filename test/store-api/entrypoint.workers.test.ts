// The store API over a binding of the real Worker: calls cross as they do between two Workers.
import { exports } from "cloudflare:workers";
import { afterAll, describe, expect, it } from "vitest";
import { rpcStore } from "../../src/client/rpc-store";
import type { Caller } from "../../src/kit/subject";
import type { StoreProps } from "../../src/store-api/rpc";
import { fixtureClock, setClockOffset } from "../fixtures/clock";
import { describeRecords } from "../kit/run";

/** A binding's `props` are its configuration; here the test plays the other Worker's. */
const bound = (props?: StoreProps) => {
  const { StoreEntrypoint } = exports as unknown as { StoreEntrypoint: (options: { props?: StoreProps }) => object };
  return rpcStore(StoreEntrypoint(props ? { props } : {}));
};

const PROPS: Readonly<Record<Caller, StoreProps>> = {
  "client-a": { subject: "a", scopes: ["client"] },
  "client-b": { subject: "b", scopes: ["client"] },
  worker: { subject: "w", scopes: ["worker"] },
  admin: {},
};

let offset = 0;
afterAll(() => setClockOffset(0));

describeRecords(
  "the store API over a service binding",
  () => ({
    api: (as) => bound(PROPS[as]),
    now: fixtureClock,
    advance: (ms) => {
      offset += ms;
      setClockOffset(offset);
    },
  }),
  { runs: 25 },
);

describe("the entrypoint", () => {
  it("acts as an admin, unless the binding names someone", async () => {
    const { record } = (await bound({ subject: "a", scopes: ["client"] }).create("default", {})) as {
      record: { id: string; owner: string };
    };
    expect(record.owner).toBe('["holdfast:binding","a"]');
    const found = await bound().get("default", record.id, { owner: record.owner });
    expect(found).toEqual(record);
    await expect(bound({ subject: "b" }).get("default", "x")).rejects.toMatchObject({ code: "misconfigured" });
  });

  it("brings errors across with their code and their facts", async () => {
    await expect(bound().create("none", {}, { maxRows: 0 })).rejects.toMatchObject({
      name: "TaskError",
      code: "limit_reached",
      data: { value: 0 },
    });
  });
});
