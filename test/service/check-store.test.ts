import { describe, expect, it } from "vitest";
import { checkStore, isPassive } from "../../src/service/check-store";
import type { PassiveTaskStore, TaskStore } from "../../src/service/task-store";
import { memoryService } from "../support/memory";

const refusal = (store: unknown): string => {
  try {
    checkStore(store);
    return "taken";
  } catch (error) {
    expect(error).toMatchObject({ code: "misconfigured" });
    return (error as Error).message;
  }
};

const { store: memory } = memoryService([]);
const bare = (): Record<string, unknown> =>
  Object.fromEntries(
    [
      "mint",
      "recognises",
      "create",
      "admit",
      "read",
      "occupy",
      "poll",
      "tell",
      "work",
      "watch",
      "listen",
      "list",
      "search",
      "sweep",
    ].map((name) => [name, () => {}]),
  );

describe("a store that is handed over (T8)", () => {
  it("is taken as it is when it has the whole port, also by inheritance", () => {
    expect(refusal(memory)).toBe("taken");
    expect(refusal(bare())).toBe("taken");
  });

  it.each([
    ["memory", '"memory"'],
    ["postgres://x", '"postgres://x"'],
    [7, "a number"],
    [null, "null"],
    [undefined, "undefined"],
    [() => memory, "a function"],
  ])("is refused when it is %s", (store, named) => {
    expect(refusal(store)).toBe(
      `The store must be an object that implements TaskStore; it is ${named}. TASK_STORE selects "durable" or "memory".`,
    );
  });

  it("is refused with the names of the methods it lacks", () => {
    const { watch: _watch, ...without } = bare();
    expect(refusal(without)).toBe("The store lacks these methods of TaskStore: watch.");
    expect(refusal({ ...without, list: "yes" })).toBe("The store lacks these methods of TaskStore: watch, list.");
    expect(refusal(new Map())).toMatch(/TaskStore: mint, recognises, create/);
    expect(refusal({ ...bare(), due: 5 })).toMatch(/named due/);
    expect(refusal({ ...bare(), pushes: () => true })).toMatch(/named pushes/);
  });

  it("may say whether it carries news, or not", () => {
    for (const pushes of [true, false]) expect(refusal({ ...bare(), pushes })).toBe("taken");
  });

  it("is run by the deployment when it only keeps", () => {
    expect(isPassive(memory)).toBe(false);
    expect(isPassive({ ...(bare() as unknown as TaskStore), due: async () => [] } as PassiveTaskStore)).toBe(true);
  });
});
