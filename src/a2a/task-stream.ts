import type { StreamResponse } from "@a2a-js/sdk";
import { Channel } from "../service/channel";
import type { Principal } from "../service/principal";
import type { TaskService } from "../service/task-service";
import type { TaskSnapshot } from "../service/task-store";
import { notFound } from "../task/errors";
import { standingOf } from "../task/standing";
import type { LogEntry } from "../task/task";
import { updatesOf } from "./updates";
import { toTask } from "./view";

export type TaskStreamOptions = {
  /** Aborts when the client has left; the task is not touched by that. */
  readonly signal: AbortSignal;
  /** Of the history in the first message. */
  readonly historyLength: number | undefined;
  /** `input`: the stream ends when the task waits for the client's next message, and not where it waits for a login. */
  readonly restAt: "input" | "settled";
};

type Heard = { readonly snapshot: TaskSnapshot } | { readonly entry: LogEntry };

/**
 * The task as it stands, then everything that happens to it, in order (A2A 1.0 §3.1.2, §3.1.6). Whoever watches it hears
 * the same. Throws `not_found`.
 */
export async function* taskStream(
  tasks: TaskService,
  principal: Principal,
  id: string,
  { signal, historyLength, restAt }: TaskStreamOptions,
): AsyncGenerator<StreamResponse, void, undefined> {
  const heard = new Channel<Heard>();
  const over = new AbortController();
  let failure: unknown;
  const ended = tasks
    .settle(principal, id, {
      signal: AbortSignal.any([signal, over.signal]),
      restAt: "settled",
      onSnapshot: (snapshot) => heard.push({ snapshot }),
      onEvent: (entry) => heard.push({ entry }),
    })
    .catch((thrown: unknown) => {
      failure = thrown;
      return null;
    })
    .finally(() => heard.close());
  try {
    await tasks.occupy(principal, over.signal);
    let begun: TaskSnapshot | undefined;
    for await (const news of heard) {
      if ("snapshot" in news) {
        // A feed that broke begins again with where the task stands; the events since are still to come.
        if (begun) continue;
        begun = news.snapshot;
        const task = await first(tasks, principal, news.snapshot, historyLength);
        yield { payload: { $case: "task", value: toTask(task, { historyLength }) } };
        if (rests(task, restAt)) return;
        continue;
      }
      const { entry } = news;
      // Read only for what an entry does not say itself.
      let read: Promise<TaskSnapshot | null> | undefined;
      const task = () =>
        (read ??=
          entry.event === "expired" && begun
            ? Promise.resolve(expired(begun, entry))
            : entry.phase === "settled"
              ? ended
              : tasks.peek(principal, id));
      for (const update of await updatesOf(entry, task)) yield update;
      if (entry.phase === "settled") return;
      if (entry.phase === "input_required" && rests(await task(), restAt)) return;
    }
    // Whoever left is told nothing.
    if (failure !== undefined && !signal.aborted) throw failure;
  } finally {
    over.abort();
    await ended;
  }
}

/** The feed's snapshot, which its events follow, with what it leaves out. */
async function first(
  tasks: TaskService,
  principal: Principal,
  snapshot: TaskSnapshot,
  historyLength: number | undefined,
): Promise<TaskSnapshot> {
  const settled = snapshot.stage.phase === "settled";
  const conversation = historyLength !== 0;
  if (!settled && !conversation) return snapshot;
  const task = await tasks.peek(principal, snapshot.id, { body: settled, conversation });
  if (!task) throw notFound();
  return settled || !task.conversation ? task : { ...snapshot, conversation: task.conversation };
}

/** It reads as missing by now; a stream that saw it is told how it ended. */
const expired = (task: TaskSnapshot, { at, statusMessage }: LogEntry): TaskSnapshot => ({
  ...task,
  openQuestions: [],
  statusAt: at,
  statusMessage,
  stage: { phase: "settled", outcome: { kind: "expired" }, settledAt: at },
});

function rests(task: TaskSnapshot | null, restAt: TaskStreamOptions["restAt"]): boolean {
  if (task === null || task.stage.phase === "settled") return true;
  return restAt === "input" && standingOf({ stage: task.stage, open: task.openQuestions }) === "input_required";
}
