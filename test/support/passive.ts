import type { PassiveTaskStore } from "../../src/service/task-store";
import { planWork } from "../../src/service/work";
import { nextWork } from "../../src/task/due";
import type { Task, TaskDraft } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { limits } from "./memory";
import { draft } from "./task";

/** The part of a passive store that runs and the cron need, in a map. */
export function passive(clock: () => number) {
  const tasks = new Map<string, Task>();
  const store: Pick<PassiveTaskStore, "due" | "work"> = {
    due: async (now, limit) =>
      [...tasks.values()]
        .filter((task) => (nextWork(task) ?? Infinity) <= now)
        .map(({ id }) => id)
        .slice(0, limit),
    work: async (id, act) => {
      const task = tasks.get(id);
      if (!task) return null;
      const { events, answer } = planWork(task, act, { limits, now: clock(), random: () => 0.5 });
      const after = events.reduce((before, event) => transition(before, event).task, task);
      tasks.set(id, after);
      return answer(after);
    },
  };
  const add = (over: Partial<TaskDraft>): Task => {
    const { task } = createTask(draft({ createdAt: clock(), ttlMs: null, ...over }));
    tasks.set(task.id, task);
    return task;
  };
  return { store, add, get: (id: string) => tasks.get(id) as Task };
}
