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
    throw misconfigured(
      `must be an object that implements TaskStore; it is ${given}. TASK_STORE selects "durable" or "memory".`,
    );
  }
  const members = store as Readonly<Record<string, unknown>>;
  const missing = Object.keys(METHODS).filter((name) => typeof members[name] !== "function");
  if (missing.length > 0) throw misconfigured(`lacks these methods of TaskStore: ${missing.join(", ")}.`);
  for (const [name, type] of Object.entries({ pushes: "boolean", due: "function" })) {
    if (members[name] !== undefined && typeof members[name] !== type) {
      throw misconfigured(`has a member named ${name} that is no ${type}.`);
    }
  }
}

/** Whether the deployment has to run its tasks. */
export const isPassive = (store: TaskStore): store is PassiveTaskStore => "due" in store;

/** Throws `misconfigured` where nothing would run the tasks. */
export function checkRunner(store: TaskStore, runner: object | undefined): void {
  if (!isPassive(store) || runner !== undefined) return;
  throw misconfigured(
    "only keeps tasks, as it has the method due: give createHoldfast the runner of durable-objects/runner.ts too.",
  );
}

const misconfigured = (fault: string): TaskError => new TaskError("misconfigured", `The store ${fault}`);
