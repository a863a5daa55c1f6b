import { TaskError } from "../task/errors";
import type { PassiveTaskStore, TaskStore } from "./task-store";

type Methods = { [K in keyof TaskStore as undefined extends TaskStore[K] ? never : K]: true };

/** The methods every store has; the compiler keeps this list complete. */
const METHODS = {
  mint: true,
  recognises: true,
  create: true,
  admit: true,
  read: true,
  occupy: true,
  poll: true,
  tell: true,
  work: true,
  watch: true,
  listen: true,
  list: true,
  search: true,
  sweep: true,
} as const satisfies Methods;

/** Throws `misconfigured` unless it is an object with the whole port: what is wrong must show before the first call. */
export function checkStore(store: unknown): asserts store is TaskStore {
  if (typeof store !== "object" || store === null) {
    const isWord = store === null || store === undefined || typeof store === "string";
    const given = isWord ? JSON.stringify(store) : `a ${typeof store}`;
    throw new TaskError(
      "misconfigured",
      `The store must be an object that implements TaskStore; it is ${given}. TASK_STORE selects "durable" or "memory".`,
    );
  }
  const members = store as Readonly<Record<string, unknown>>;
  const missing = Object.keys(METHODS).filter((name) => typeof members[name] !== "function");
  if (missing.length > 0) {
    throw new TaskError(
      "misconfigured",
      `The store does not implement TaskStore: it lacks the ${missing.length === 1 ? "method" : "methods"} ${missing.join(", ")}.`,
    );
  }
  if (members["pushes"] !== undefined && typeof members["pushes"] !== "boolean") {
    throw new TaskError("misconfigured", "The store has a member named pushes that is neither true nor false.");
  }
  if (members["due"] !== undefined && typeof members["due"] !== "function") {
    throw new TaskError(
      "misconfigured",
      "The store has a member named due that is not the method of PassiveTaskStore.",
    );
  }
}

/** Whether the deployment has to run its tasks. */
export const isPassive = (store: TaskStore): store is PassiveTaskStore => "due" in store;

/** Throws `misconfigured` where nothing would run the tasks. */
export function checkRunner(store: TaskStore, runner: object | undefined): void {
  if (!isPassive(store) || runner !== undefined) return;
  throw new TaskError(
    "misconfigured",
    "The store has the method due, so it only keeps tasks: give createHoldfast the runner of durable-objects/runner.ts too, which runs them.",
  );
}
