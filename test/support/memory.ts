import type { Limits } from "../../src/service/limits";
import { MemoryTaskStore } from "../../src/service/memory-task-store";
import { noQueues } from "./no-queues";
import type { Principal } from "../../src/service/principal";
import { TaskService } from "../../src/service/task-service";
import type { TaskSnapshot } from "../../src/service/task-store";
import type { AnyTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";

export const limits: Limits = {
  ttlMs: 86_400_000,
  minTtlMs: 60_000,
  maxTtlMs: 2_592_000_000,
  retentionMs: 604_800_000,
  pollIntervalMs: 1_000,
  timeoutMs: 600_000,
  maxAttempts: 3,
  maxRestarts: 20,
  questionTtlMs: 604_800_000,
  reservationMs: 30_000,
  maxTasksPerOwner: 10_000,
  maxLiveTasksPerOwner: 1_000,
  createsPerMinute: 600,
  pollBurst: 100_000,
  maxStreamsPerOwner: 50,
  scoping: "strict",
  resultLimitBytes: 10_485_760,
};

/** A clock that runs, and can be pushed ahead. */
export function movableClock(): { now: () => number; advance: (ms: number) => void } {
  let offset = 0;
  return { now: () => Date.now() + offset, advance: (ms) => void (offset += ms) };
}

export const someone = (subject: string): Principal => ({
  kind: "identified",
  issuer: "test",
  subject,
  scopes: ["client"],
  expiresAt: null,
});

export const everything = {
  revision: "test",
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  principal: null,
};

/** The real service over the real memory store: what the protocols stand on. */
export function memoryService(tools: readonly AnyTool[], over: Partial<Limits> = {}) {
  const clock = movableClock();
  const registry = createRegistry(tools);
  const ruled = { ...limits, ...over };
  const lines: { level: string; message: string; data: object }[] = [];
  const store = new MemoryTaskStore({
    queues: noQueues,
    registry,
    limits: ruled,
    clock: clock.now,
    fetch: (url, init) => fetch(url, init),
    log: (level, message, data) => void lines.push({ level, message, data }),
  });
  const tasks = new TaskService({ store, limits: ruled, clock: clock.now });
  const owner = someone("a");
  return {
    clock,
    registry,
    store,
    tasks,
    owner,
    lines,
    start: async (
      name: string,
      args: Record<string, never | unknown> = {},
      more: object = {},
    ): Promise<TaskSnapshot> => {
      const tool = registry.get(name);
      if (!tool) throw new Error(`no tool ${name}`);
      return (
        await tasks.start({
          principal: owner,
          tool,
          arguments: args as never,
          client: everything,
          origin: "test",
          ...more,
        })
      ).task;
    },
    /** Settled, or waiting for input. */
    rest: (id: string, signal: AbortSignal = AbortSignal.timeout(20_000)): Promise<TaskSnapshot> =>
      tasks.settle(owner, id, { signal }),
  };
}

/** The result a settled task holds, parsed. */
export function resultOf(task: TaskSnapshot): unknown {
  if (task.stage.phase !== "settled" || task.stage.outcome.kind !== "result")
    throw new Error(`no result: ${JSON.stringify(task.stage)}`);
  return JSON.parse(task.stage.outcome.result);
}

export const textOf = (task: TaskSnapshot): string =>
  (resultOf(task) as { content: { text: string }[] }).content[0]?.text ?? "";
