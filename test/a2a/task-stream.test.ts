import type { StreamResponse } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { taskStream, type TaskStreamOptions } from "../../src/a2a/task-stream";
import { toldOf } from "../../src/service/snapshot";
import { TaskService } from "../../src/service/task-service";
import type { ReadOptions, TaskFeedMessage, TaskStore } from "../../src/service/task-store";
import { TaskError } from "../../src/task/errors";
import type { Task } from "../../src/task/task";
import { limits, someone } from "../support/memory";
import { answered, asked, form, life, progressed, resulted, settled, started, type Life } from "./life";

/** A store whose feed says just this, and in which the task stands as at its `now`-th entry. */
function told(messages: readonly TaskFeedMessage[], now: () => Task, reading?: "missing" | "overloaded") {
  const reads: ReadOptions[] = [];
  const store = {
    recognises: () => true,
    occupy: async () => {},
    read: async (_: unknown, options: ReadOptions = {}) => {
      reads.push(options);
      if (reading === "overloaded") throw new TaskError(reading, "The task store is busy.");
      if (reading === "missing") return null;
      return toldOf(now(), options);
    },
    watch: async () =>
      (async function* () {
        yield* messages;
      })(),
  } as unknown as TaskStore;
  const tasks = new TaskService({ store, limits, clock: () => 5_000 });
  const follow = async (over: Partial<TaskStreamOptions> = {}) => {
    const options = { signal: AbortSignal.timeout(5_000), historyLength: 0, restAt: "input", ...over } as const;
    const events: string[] = [];
    for await (const event of taskStream(tasks, someone("a"), now().id, options)) events.push(nameOf(event));
    return events;
  };
  return { follow, reads };
}

function nameOf({ payload }: StreamResponse): string {
  if (payload?.$case === "task") return `task ${payload.value.status?.state}`;
  if (payload?.$case !== "statusUpdate") return String(payload?.$case);
  const { state, message, timestamp } = payload.value.status ?? {};
  const words = message?.parts.flatMap(({ content }) => (content?.$case === "text" ? [content.value] : [])) ?? [];
  return [state, ...words, Date.parse(timestamp ?? "")].join(" ");
}

const snapshotAt = ({ stages }: Life, at: number): TaskFeedMessage => ({
  kind: "snapshot",
  task: toldOf(stages[at] as Task, { body: false }),
});
const entriesOf = ({ entries }: Life, from: number, to?: number): TaskFeedMessage[] =>
  entries.slice(from, to).map((entry) => ({ kind: "event", entry }));

const done = resulted({ content: [{ type: "text", text: "Done." }] });

describe("the stream of a task", () => {
  it("tells of work that goes on what the log says, and reads nothing for it", async () => {
    const of = life({}, started(), progressed(1_200, "One"), progressed(1_300, "Two"), settled(1_400, done));
    const { follow, reads } = told([snapshotAt(of, 0), ...entriesOf(of, 1)], () => of.task);
    expect(await follow()).toEqual(["task 1", "2 1100", "2 One 1100", "2 Two 1100", "artifactUpdate", "3 1400"]);
    expect(reads).toHaveLength(1);
  });

  it("has the end of a task that ended while its feed was broken off", async () => {
    const of = life({}, started(), progressed(1_200, "One"), settled(1_300, done));
    // After a loss the feed begins with where the task stands then.
    const messages = [snapshotAt(of, 1), snapshotAt(of, 3), ...entriesOf(of, 2)];
    const { follow } = told(messages, () => of.task);
    expect((await follow()).slice(-2)).toEqual(["artifactUpdate", "3 1300"]);
  });

  it("does not end at a question that was answered before anybody heard of it", async () => {
    const of = life(
      {},
      started(),
      asked(1_200, { a: form("First?") }),
      answered(1_300, ["a"]),
      started(1_400),
      asked(1_500, { b: form("Second?") }),
    );
    const { follow } = told([snapshotAt(of, 1), ...entriesOf(of, 2)], () => of.task);
    expect(await follow()).toEqual(["task 2", "6 First? 1200", "2 1300", "6 Second? 1500"]);
  });

  it("is refused to who would follow to its end what has ended", async () => {
    const of = life({}, started(), settled(1_300, done));
    const { follow } = told([snapshotAt(of, 2)], () => of.task);
    await expect(follow({ restAt: "settled" })).rejects.toMatchObject({ fault: "unsupported" });
    expect(await follow()).toEqual(["task 3"]);
  });

  it("fails where the end cannot be read, so that nobody takes the stream for complete", async () => {
    const of = life({}, started(), settled(1_400, done));
    const { follow } = told([snapshotAt(of, 0), ...entriesOf(of, 1)], () => of.task, "overloaded");
    await expect(follow()).rejects.toMatchObject({ code: "overloaded" });
  });

  it("tells that a task has expired, and ends there although it reads as missing", async () => {
    const of = life({}, started(), { type: "expired", at: 1_400 });
    const { follow } = told([snapshotAt(of, 0), ...entriesOf(of, 1)], () => of.task, "missing");
    expect((await follow()).at(-1)).toMatch(/^4 /);
  });
});
