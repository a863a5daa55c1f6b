import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { runnerDrive } from "../../durable-objects/runner-drive";
import type { Bindings } from "../../durable-objects/wiring";
import { d1Store } from "../../src/d1/d1-store";
import type { Drive } from "../../src/service/drive";
import type { PassiveTaskStore, TaskStore } from "../../src/service/task-store";
import { setStage, type StoreParts } from "./stage";

export const objects = env as unknown as Bindings & TestDatabase;

/** An empty D1 store whose tasks are run in runner objects, and what sets them going. */
export async function emptyD1(parts: StoreParts, log: (message: string) => void = () => {}) {
  await reset();
  const store = d1Store({ db: objects.DB, limits: parts.limits, clock: parts.clock });
  setStage({ ...parts, store });
  return { store, drive: runnerDrive(objects, store, parts.clock, (_, message) => log(message)) };
}

/** The store as a deployment has it: the service wakes what was created or told, the cron whatever is late. */
export function driven(store: PassiveTaskStore, drive: Drive): TaskStore {
  const around: Partial<TaskStore> = {
    create: async (draft, idempotency) => {
      const created = await store.create(draft, idempotency);
      if (created.kind === "created") await drive.wake(created.task);
      return created;
    },
    tell: async (ref, command) => {
      const told = await store.tell(ref, command);
      if (told?.changed) await drive.wake(told.task);
      return told;
    },
    sweep: async (budget) => {
      const report = await store.sweep(budget);
      await drive.redrive(budget);
      return report;
    },
  };
  return new Proxy(store, {
    get: (_, name) => {
      const member: unknown = Reflect.get(around, name) ?? Reflect.get(store, name);
      return typeof member === "function" ? (member.bind(store) as unknown) : member;
    },
  });
}
