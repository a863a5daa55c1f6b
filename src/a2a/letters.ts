import type { StreamResponse } from "@a2a-js/sdk";
import type { Letter } from "../service/push-letter";
import { toldOf } from "../service/snapshot";
import type { TaskSnapshot } from "../service/task-store";
import type { LogEntry, PushTarget, Task } from "../task/task";
import type { Wire } from "./deps";
import type * as sdk from "./sdk";
import { stateOf } from "./states";
import { asOf, updatesOf } from "./updates";
import { toTask } from "./view";

type Sdk = typeof sdk;

type Written = Omit<Letter, "seq">;

const OLD: Wire = "a2a/0.3";

/** What a push target is sent of these entries, in order and on the wire it asked for (A2A 1.0 §4.3.3). */
export async function letters(
  task: Task,
  entries: readonly LogEntry[],
  { wire }: PushTarget,
): Promise<readonly Letter[]> {
  const loaded = await import("./sdk");
  const snapshot = toldOf(task, { conversation: true });
  const written: Letter[] = [];
  for (const entry of entries) {
    const news = entry.event === "created" ? [begun(snapshot, entry)] : await updatesOf(entry, async () => snapshot);
    for (const one of news)
      written.push({ seq: entry.seq, ...(wire === OLD ? inOld(loaded, one) : inNew(loaded, one)) });
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

const inNew = ({ V1PushNotificationSerializer }: Sdk, news: StreamResponse): Written => ({
  ...new V1PushNotificationSerializer().serialize(news),
  headers: { "A2A-Version": "1.0" },
});

/** The SDK calls final only what settles a task; in 0.3 so is that the task waits for its client, who may stop listening. */
function inOld({ V03PushNotificationSerializer }: Sdk, news: StreamResponse): Written {
  const { body, contentType } = new V03PushNotificationSerializer().serialize(news);
  const { payload } = news;
  const waits = payload?.$case === "statusUpdate" && payload.value.status?.state === stateOf("input_required");
  return { body: waits ? JSON.stringify({ ...(JSON.parse(body) as object), final: true }) : body, contentType };
}
