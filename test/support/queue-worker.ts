import type { Clock } from "../../src/clock";
import { memoryQueues } from "../../src/service/memory-queue";
import { queueCalls, type QueueCalls } from "../../src/service/queue-offer";
import type { TaskStore } from "../../src/service/task-store";
import type { Worked } from "../../src/service/work";
import type { InputRequest, Progress, RpcError, Task } from "../../src/task/task";

const LEASE_MS = 60_000;

/** A task that a worker has. */
export type Job = {
  readonly task: Task;
  heartbeat(progress?: Progress): Promise<Worked | null>;
  complete(result: object): Promise<Worked | null>;
  fail(error: RpcError, retry?: boolean): Promise<Worked | null>;
  ask(questions: Readonly<Record<string, InputRequest>>): Promise<Worked | null>;
};

/** A store over queues in memory, and a worker of them that does what the test says. */
export function queueWorker<S extends TaskStore>(storeOver: (queues: QueueCalls) => S, clock: Clock) {
  const queues = memoryQueues();
  const store = storeOver(queueCalls(queues, clock));

  const claim = async (name: string): Promise<Job | null> => {
    const now = clock();
    const wish = { key: crypto.randomUUID(), max: 1, now, until: now + LEASE_MS, tools: null };
    const [picked] = await queues(name).pick(wish);
    if (!picked) return null;
    const { id, lease, until } = picked;
    const claimed = await store.work(id, { kind: "claim", lease: { id: lease, until, worker: "w" } });
    const held = claimed?.kind === "held";
    await queues(name).agreed(held ? [picked] : [], held ? [] : [picked], now);
    return held ? jobOf(claimed.task, lease) : null;
  };

  const jobOf = (task: Task, lease: string): Job => {
    const { id } = task;
    const until = (): number => clock() + LEASE_MS;
    return {
      task,
      heartbeat: (progress) =>
        store.work(id, { kind: "heartbeat", lease, until: until(), ...(progress ? { progress } : {}) }),
      complete: (result) => store.work(id, { kind: "complete", lease, result: JSON.stringify(result) }),
      fail: (error, retry = false) => store.work(id, { kind: "fail", lease, error, retry }),
      ask: (questions) => store.work(id, { kind: "ask", lease, questions }),
    };
  };

  /** The task of the queue whose turn it is, now or later, under a lease. */
  const take = async (name: string): Promise<Job> => {
    const taken = new AbortController();
    for await (const _ of queues(name).watch(taken.signal)) {
      const job = await claim(name);
      if (!job) continue;
      taken.abort();
      return job;
    }
    throw new Error("A queue has no end.");
  };

  return { store, queues, take };
}
