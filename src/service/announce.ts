import type { LogEntry, Task } from "../task/task";
import { factsOf } from "./audit";
import { toSnapshot } from "./snapshot";
import type { HostParts } from "./host-parts";

type Ears = Pick<HostParts, "announce" | "deliver" | "asking" | "keepAlive" | "log">;

/** Tells everyone whom an accepted event concerns: watchers, whoever carries the questions, the session, the log. */
export function announce(ears: Ears, before: Task, task: Task, entry: LogEntry): void {
  const { stage } = task;
  const expired = stage.phase === "settled" && stage.outcome.kind === "expired";
  ears.announce({ kind: "event", entry }, stage.phase === "settled" && !expired);
  if (expired) ears.announce({ kind: "gone" }, true);
  if (stage.phase === "settled") {
    const audit = expired ? "expire" : "settle";
    ears.log("info", "A task has settled.", { audit, ...factsOf(task), outcome: stage.outcome.kind });
  }
  if (before.questions !== task.questions) deliver(ears, before, task);
}

function deliver(ears: Ears, before: Task, task: Task): void {
  const { openQuestions } = toSnapshot(task);
  const known = new Set(before.questions.map(({ key }) => key));
  const fresh = openQuestions.filter(({ key }) => !known.has(key));
  ears.deliver(openQuestions, fresh);
  if (fresh.length > 0) ears.keepAlive(tellSession(ears, task));
}

/** An anonymous caller has no feed of its tasks, so its session is told where the question is. Never rejects. */
export async function tellSession(
  { asking, log }: Pick<HostParts, "asking" | "log">,
  { id, owner, client: { session } }: Task,
): Promise<void> {
  if (owner !== null || !session) return;
  await asking(session, id).catch(() => log("warning", "A session could not be told of a question.", { task: id }));
}
