import { describe, expect, it } from "vitest";
import { rpcStore } from "../../src/client/rpc-store";
import { outcomeOf, principalOf, type StoreProps } from "../../src/store-api/rpc";
import { STORE_METHODS } from "../../src/store-api/store-methods";
import { SERVED } from "../../src/store-api/store-service";
import { TaskError } from "../../src/task/errors";

describe("a call over a binding", () => {
  it("is an admin's, unless the binding names someone", () => {
    const known = { kind: "identified", issuer: "holdfast:binding", expiresAt: null };
    const admin = { ...known, subject: "binding", scopes: ["admin"] };
    for (const props of [undefined, {}]) expect(principalOf(props)).toEqual(admin);
    expect(principalOf({ subject: "shop", scopes: ["client"] })).toEqual({
      ...known,
      subject: "shop",
      scopes: ["client"],
    });
    expect(principalOf({ subject: "shop", scopes: ["worker"], issuer: "us" })).toMatchObject({ issuer: "us" });
  });

  it.each<[string, unknown]>([
    ["a subject alone", { subject: "shop" }],
    ["scopes alone", { scopes: ["client"] }],
    ["an empty subject", { subject: "", scopes: ["client"] }],
    ["a scope nobody knows", { subject: "shop", scopes: ["root"] }],
    ["scopes that are no list", { subject: "shop", scopes: "admin" }],
  ])("is nobody's under props with %s", (_, props) => {
    expect(() => principalOf(props as StoreProps)).toThrow(TaskError);
  });

  it("brings an error across as a value, and makes one of it again", async () => {
    const log: object[] = [];
    const failing = (error: Error) =>
      rpcStore({
        get: () =>
          outcomeOf(
            () => Promise.reject(error),
            (line) => void log.push(line),
          ),
      });
    const limit = new TaskError("limit_reached", "No more.", { limit: "X", value: 1 });
    await expect(failing(limit).get("a", "b")).rejects.toMatchObject({
      name: "TaskError",
      code: "limit_reached",
      message: "No more.",
      data: { limit: "X", value: 1 },
    });
    const thrown = await failing(new Error("a secret detail"))
      .get("a", "b")
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "internal", message: expect.not.stringContaining("secret") });
    expect(JSON.stringify(log)).toContain("a secret detail");
  });

  it("is of what the API has, and of nothing else", () => {
    expect([...SERVED].sort()).toEqual([...STORE_METHODS].sort());
  });

  it("has every method of the API, and ends a wait when it is told to", async () => {
    const asked: unknown[] = [];
    const never = new Promise<never>(() => {});
    const store = rpcStore({ events: (...args: unknown[]) => (asked.push(args), never) });
    expect(Object.keys(store).sort()).toEqual([...STORE_METHODS].sort());
    const stop = new AbortController();
    const waiting = store.events("a", "b", { after: 7, waitMs: 100, signal: stop.signal });
    stop.abort();
    expect(await waiting).toEqual({ entries: [], cursor: 7 });
    expect(asked).toEqual([["a", "b", { after: 7, waitMs: 100 }]]);
    expect(await store.events("a", "b", { signal: AbortSignal.abort() })).toEqual({ entries: [], cursor: 0 });
  });
});
