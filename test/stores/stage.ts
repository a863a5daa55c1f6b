import type { Wiring } from "../../durable-objects/wiring";
import type { Clock } from "../../src/clock";
import type { Limits } from "../../src/service/limits";
import type { TaskStore } from "../../src/service/task-store";
import type { Registry } from "../../src/tool/registry";

/** What a store is made of in the tests. */
export type StoreParts = {
  readonly registry: Registry;
  readonly limits: Limits;
  readonly clock: Clock;
  /** The store that runner objects work for, where it is not the objects' own. */
  readonly store?: TaskStore;
  /** Where the objects' log lines go; nowhere, if left out. */
  readonly log?: Wiring["log"];
  /** What push targets are told, and what sends it; nothing and nobody, if left out. */
  readonly letters?: Wiring["letters"];
  readonly post?: ReturnType<Wiring["postFor"]>;
};

let now: StoreParts | null = null;

/** Sets what the objects of this isolate are made of from here on: the platform makes them, so nobody can pass it. */
export const setStage = (parts: StoreParts): void => void (now = parts);

export function stage(): StoreParts {
  if (!now) throw new Error("A test makes its store before it wakes an object.");
  return now;
}
