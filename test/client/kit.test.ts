import type { Caller, Subject } from "../../src/kit/subject";
import { httpStore } from "../../src/client/http-store";
import { rpcStore } from "../../src/client/rpc-store";
import { outcomeOf } from "../../src/store-api/rpc";
import { STORE_METHODS } from "../../src/store-api/store-methods";
import type { StoreApi } from "../../src/store-api/api";
import { memorySubject } from "../kit/memory-subject";
import { describeRecords } from "../kit/run";
import { serveStore } from "../support/store";

const TOKENS: Readonly<Record<Caller, string>> = {
  "client-a": "ann",
  "client-b": "bob",
  worker: "wendy",
  admin: "root",
};

describeRecords(
  "the store API over HTTP",
  async (): Promise<Subject> => {
    const { app, clock } = await serveStore();
    return {
      api: (as) =>
        httpStore({
          url: "http://localhost",
          token: TOKENS[as],
          fetch: async (input, init) => app.request(input as string, init as RequestInit),
        }),
      now: clock.now,
      advance: clock.advance,
    };
  },
  { runs: 200 },
);

describeRecords("the store API over RPC", (): Subject => {
  const { api, ...rest } = memorySubject();
  return { ...rest, api: (as) => rpcStore(overRpc(api(as))) };
});

/** What a service binding does to a call: arguments and answer are copied, and an error would lose what it was. */
function overRpc(store: StoreApi): object {
  const methods = STORE_METHODS.map((name) => {
    const call = async (...args: readonly unknown[]): Promise<unknown> => {
      const given = structuredClone([...args]);
      const method = store[name] as (...all: readonly unknown[]) => Promise<unknown>;
      return structuredClone(
        await outcomeOf(
          async () => method.apply(store, given),
          () => {},
        ),
      );
    };
    return [name, call];
  });
  return Object.fromEntries(methods) as object;
}
