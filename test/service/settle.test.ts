// Staying with a task over a feed that breaks, as it does at every deploy.
import { describe, expect, it } from "vitest";
import { TaskService } from "../../src/service/task-service";
import { toSnapshot, withoutBody } from "../../src/service/snapshot";
import type { TaskFeedMessage, TaskStore } from "../../src/service/task-store";
import type { LogEntry, Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";

const owner = { kind: "identified", issuer: "i", subject: "s", scopes: ["client"], expiresAt: null } as const;

/** A life, with each state it went through and all its log. */
function life(...events: readonly TaskEvent[]) {
  const { task, entry } = createTask(draft());
  const states: Task[] = [task];
  const log: LogEntry[] = [entry];
  for (const event of events) {
    const { task: next, entry: logged } = transition(states.at(-1) as Task, event);
    states.push(next);
    if (logged) log.push(logged);
  }
  return { states, log, last: states.at(-1) as Task };
}

describe("staying with a task", () => {
  it("hears everything in order, also what happened while its feed was broken", async () => {
    const progress = (n: number): TaskEvent => ({ type: "progressed", at: 1_100 + n, progress: { progress: n } });
    const { states, log, last } = life({ type: "started", at: 1_100 }, progress(1), progress(2), {
      type: "settled",
      at: 1_200,
      outcome: { kind: "result", result: "{}", isError: false },
      statusMessage: null,
      minTtlMs: 1,
    });
    const snapshotAt = (version: number): TaskFeedMessage => ({
      kind: "snapshot",
      task: withoutBody(toSnapshot(states.find((state) => state.version === version) as Task)),
    });
    const event = (seq: number): TaskFeedMessage => ({ kind: "event", entry: log[seq - 1] as LogEntry });
    const asked: (number | undefined)[] = [];
    const store = {
      recognises: () => true,
      read: async () => toSnapshot(last),
      async watch(_: unknown, { after }: { after?: number }) {
        asked.push(after);
        // The first breaks after the second event; the next one finds the task settled.
        const messages =
          after === undefined ? [snapshotAt(1), event(2)] : [snapshotAt(5), event(3), event(4), event(5)];
        return (async function* () {
          yield* messages;
        })();
      },
    } as unknown as TaskStore;
    const tasks = new TaskService({ store, limits: {} as never, clock: Date.now });
    const heard: number[] = [];
    const settled = await tasks.settle(owner, last.id, {
      signal: new AbortController().signal,
      onEvent: ({ seq }) => heard.push(seq),
    });
    expect(asked).toEqual([undefined, 2]);
    expect(heard).toEqual([2, 3, 4, 5]);
    expect(settled.stage.phase).toBe("settled");
  });
});
