import type { StreamResponse } from "@a2a-js/sdk";
import type { Letter } from "../service/push-letter";
import { toldOf } from "../service/snapshot";
import type { TaskSnapshot } from "../service/task-store";
import type { LogEntry, PushTarget, Task } from "../task/task";
import { eventsIn } from "./ask";
import { OLD } from "./dialect";
import { asOf, updatesOf } from "./updates";
import { toTask } from "./view";

/** What a push target is sent of these entries, in order and on the wire it asked for (A2A 1.0 §4.3.3). */
export async function letters(
  task: Task,
  entries: readonly LogEntry[],
  { wire }: PushTarget,
): Promise<readonly Letter[]> {
  const envelope =
    wire === OLD
      ? { contentType: "application/json" }
      : { contentType: "application/a2a+json", headers: { "A2A-Version": "1.0" } };
  const snapshot = toldOf(task, { conversation: true });
  const written: Letter[] = [];
  for (const entry of entries) {
    const news = entry.event === "created" ? [begun(snapshot, entry)] : await updatesOf(entry, async () => snapshot);
    for await (const event of eventsIn(wire, news)) {
      written.push({ seq: entry.seq, body: JSON.stringify(event), ...envelope });
    }
  }
  return written;
}

/** The task as it was made, whatever became of it since: that is told after it. */
function begun(task: TaskSnapshot, entry: LogEntry): StreamResponse {
  const { conversation } = task;
  const then = {
    ...asOf(task, entry),
    ...(conversation && { conversation: { ...conversation, questions: [], turns: [] } }),
  };
  return { payload: { $case: "task", value: toTask(then, {}) } };
}
