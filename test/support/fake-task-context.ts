import type { Answers, Ask, TaskContext } from "../../src/tool/context";
import type { JsonObject } from "../../src/task/json";
import type { Progress } from "../../src/task/task";

/** Ends a run that must wait, like the real suspension: the test answers or moves the clock, and runs again. */
export class FakeSuspension extends Error {
  override readonly name = "FakeSuspension";
}

export type FakeTask = {
  /** Stored step values, as JSON text. */
  readonly steps: Map<string, string>;
  /** When each sleep of a run ends. */
  readonly sleeps: number[];
  /** What was asked and is not answered yet, by key. */
  readonly open: Map<string, { readonly ask: Ask; readonly timeoutMs: number | undefined }>;
  readonly answers: Map<string, JsonObject>;
  readonly progress: Progress[];
  readonly abort: AbortController;
  now: number;
  /** The context of a new run, from the top, over everything that was stored. */
  context(): TaskContext;
};

/** A task kept in memory. `afterStep` runs once a step is stored: a test may end the run there. */
export function fakeTask(parts: { fetch?: TaskContext["fetch"]; afterStep?: (key: string) => void } = {}): FakeTask {
  const task: FakeTask = {
    steps: new Map(),
    sleeps: [],
    open: new Map(),
    answers: new Map(),
    progress: [],
    abort: new AbortController(),
    now: Date.now(),
    context: () => newRun(task, parts),
  };
  return task;
}

function newRun(task: FakeTask, parts: Parameters<typeof fakeTask>[0] & {}): TaskContext {
  let sleeps = 0;
  return {
    id: "fake-task",
    client: { revision: "2026-07-28", capabilities: { elicitation: {} }, principal: null },
    prepared: undefined,
    attempt: 1,
    signal: task.abort.signal,
    fetch: parts.fetch ?? (() => Promise.reject(new Error("This test allows no fetch."))),
    progress: (progress) => void task.progress.push(progress),
    log: () => {},

    async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
      const stored = task.steps.get(key);
      if (stored !== undefined) return JSON.parse(stored) as T;
      const text = JSON.stringify(await fn());
      task.steps.set(key, text);
      parts.afterStep?.(key);
      return JSON.parse(text) as T;
    },

    async sleep(until) {
      const end = (task.sleeps[sleeps] ??= Number(until));
      sleeps += 1;
      if (task.now < end) throw new FakeSuspension();
    },

    async ask<Q extends Readonly<Record<string, Ask>>>(
      questions: Q,
      options: { timeoutMs?: number } = {},
    ): Promise<Answers<Q>> {
      const answers: Record<string, JsonObject> = {};
      for (const [key, ask] of Object.entries(questions)) {
        const answer = task.answers.get(key);
        if (answer) answers[key] = answer;
        else task.open.set(key, { ask, timeoutMs: options.timeoutMs });
      }
      if (task.open.size > 0 && Object.keys(answers).length < Object.keys(questions).length) throw new FakeSuspension();
      return answers as Answers<Q>;
    },
  };
}
