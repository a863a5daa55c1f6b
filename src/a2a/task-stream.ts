import type { StreamResponse } from "@a2a-js/sdk";
import { Channel } from "../service/channel";
import type { Principal } from "../service/principal";
import type { TaskService } from "../service/task-service";
import type { TaskSnapshot } from "../service/task-store";
import { notFound } from "../task/errors";
import { standingOf } from "../task/standing";
import type { LogEntry } from "../task/task";
import { A2aError } from "./errors";
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
 * the same. Throws `not_found`; `unsupported` where nothing can happen any more to what is followed to its end.
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
  const standing = async (entry: LogEntry, told?: TaskSnapshot) => {
    if (told && entry.event === "expired") return expired(told, entry);
    if (entry.phase === "settled") return ended;
    return told && entry.phase === "working" ? told : tasks.peek(principal, id);
  };
  try {
    await tasks.occupy(principal, over.signal);
    /** As far as it has been told. */
    let known: TaskSnapshot | undefined;
    for await (const news of heard) {
      if ("snapshot" in news) {
        // A feed that broke begins again with where the task stands; the events since are still to come.
        if (known) continue;
        known = news.snapshot;
        if (restAt === "settled" && known.stage.phase === "settled") throw nothingLeft();
        const task = await first(tasks, principal, known, historyLength);
        yield { payload: { $case: "task", value: toTask(task, { historyLength }) } };
        if (rests(task, restAt)) return;
        continue;
      }
      const { entry } = news;
      known &&= moved(known, entry);
      // Read only for what an entry does not say itself.
      let read: Promise<TaskSnapshot | null> | undefined;
      const task = () => (read ??= standing(entry, known));
      yield* await updatesOf(entry, task);
      if (entry.phase === "settled") {
        // Where the end could not be read, a stream that just ends would tell nobody.
        if ((await task()) === null && failure !== undefined && !signal.aborted) throw failure;
        return;
      }
      if (entry.phase !== "input_required") continue;
      const now = await task();
      // Of what has moved on since more is to come.
      if (!now || (now.version <= entry.seq && rests(now, restAt))) return;
    }
    // Whoever left is told nothing.
    if (signal.aborted) return;
    if (failure !== undefined) throw failure;
    // It ended while its feed was broken off: the last entry has not been heard.
    const task = await ended;
    if (task) yield* await updatesOf(lastOf(task), async () => task);
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

const nothingLeft = (): A2aError =>
  new A2aError("unsupported", "The task has ended: there is nothing left to subscribe to. Get it instead.");

/** The task after an entry, in what is told of one that is at work: of that an entry says the rest itself. */
const moved = (task: TaskSnapshot, { at, event, phase }: LogEntry): TaskSnapshot => ({
  ...task,
  startedAt: task.startedAt ?? (event === "started" || event === "claimed" ? at : null),
  ...(task.stage.phase === phase || phase === "settled"
    ? {}
    : { statusAt: at, stage: phase === "working" ? { phase, activity: { kind: "running" } } : { phase } }),
});

const lastOf = ({ version: seq, updatedAt: at, stage: { phase }, statusMessage }: TaskSnapshot): LogEntry => ({
  seq,
  at,
  event: "settled",
  phase,
  statusMessage,
});

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
