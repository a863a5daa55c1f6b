import type { Clock } from "../clock";
import { withoutBody, toSnapshot } from "../service/snapshot";
import type { OpenQuestion, TaskFeedMessage, WatchOptions } from "../service/task-store";
import { isExpired, outstanding, type LogEntry, type Task } from "../task/task";
import { Carrying } from "./carrying";
import type { D1Tasks } from "./d1-tasks";
import { Polling } from "./polling";
import { taskSql } from "./task-sql";

export type TaskFeedParts = {
  readonly db: () => Promise<D1Database>;
  readonly tasks: D1Tasks;
  readonly retentionMs: number;
  readonly clock: Clock;
};

/** One watcher of a task: where it stood when it came, then by looking again and again what was logged since. */
export class D1TaskFeed {
  readonly #parts: TaskFeedParts;
  readonly #id: string;
  readonly #options: WatchOptions;
  #open: readonly OpenQuestion[];
  #cursor: number;

  constructor(parts: TaskFeedParts, task: Task, options: WatchOptions) {
    this.#parts = parts;
    this.#id = task.id;
    this.#options = options;
    this.#open = questionsOf(task);
    this.#cursor = task.version;
  }

  async *messages(task: Task, missed: readonly LogEntry[]): AsyncGenerator<TaskFeedMessage, void, undefined> {
    const { deliver = 0, signal } = this.#options;
    const { db, clock } = this.#parts;
    yield { kind: "snapshot", task: withoutBody(toSnapshot(task)) };
    for (const entry of missed) yield { kind: "event", entry };
    if (task.stage.phase === "settled") return;
    const polling = new Polling(signal);
    const carrying = deliver === 0 ? null : new Carrying(await db(), this.#id, deliver, clock);
    try {
      while (await polling.next()) {
        const news = await this.#look();
        for (const message of news) yield message;
        if (isLast(news.at(-1))) return;
        const turn = await carrying?.turn(this.#open);
        if (turn) yield turn;
        if (turn || news.length > 0) polling.found();
      }
    } finally {
      // Should this not arrive, the others notice its absence.
      await carrying?.leave().catch(() => {});
    }
  }

  async #look(): Promise<readonly TaskFeedMessage[]> {
    const { db, tasks, retentionMs, clock } = this.#parts;
    const row = await (await db()).prepare(taskSql.version).bind(this.#id).first<{ version: number }>();
    if (row && row.version === this.#cursor) return [];
    const found = row && (await tasks.loadWithLog(this.#id, this.#cursor));
    // An older version is of another task, which came in its place.
    if (!found || found.task.version < this.#cursor || isExpired(found.task, clock(), retentionMs)) {
      return [{ kind: "gone" }];
    }
    this.#cursor = found.task.version;
    this.#open = questionsOf(found.task);
    return found.entries.map((entry) => ({ kind: "event", entry }));
  }
}

const isLast = (message: TaskFeedMessage | undefined): boolean =>
  message?.kind === "gone" || (message?.kind === "event" && message.entry.phase === "settled");

const questionsOf = (task: Task): readonly OpenQuestion[] =>
  outstanding(task).map(({ key, request }) => ({ key, request }));
