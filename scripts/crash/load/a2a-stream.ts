import type { Acknowledged, Journal } from "../journal.ts";
import type { Server } from "../server.ts";
import type { Message } from "../wire.ts";
import { requestA2a, type A2aTask, type A2aUpdate } from "./a2a-client.ts";
import { UNSUPPORTED } from "./a2a-follow-up.ts";
import { sawA2a, withoutTask } from "./a2a-sights.ts";

/** What a stream came to: the task's end, or none that was followed, or nothing that anybody knows. */
export type Followed = "followed" | "ended before" | "lost";

/** SubscribeToTask: a stream that the server ends has told how the task ended, and nothing after it. */
export async function followToEnd(server: Server, task: Acknowledged, journal: Journal): Promise<Followed> {
  const { id, owner } = task;
  const found = (says: string): void => journal.found("an end to each stream", `A stream of the task ${id} ${says}.`);
  const sent = journal.now();
  let told: A2aTask = { id, status: { state: "" } };
  let isOver = false;
  const onResult = ({ result }: Message): void => {
    if (!result) return;
    if (isOver) found("went on after the task had ended");
    const { task: whole, statusUpdate, artifactUpdate } = result as A2aUpdate;
    const { history: _, ...before } = told;
    if (whole) told = whole;
    else if (artifactUpdate) told = { ...before, artifacts: [...(told.artifacts ?? []), artifactUpdate.artifact] };
    else if (statusUpdate) told = { ...before, status: statusUpdate.status };
    // With the artifacts it has not ended yet: its last status comes after them.
    if (artifactUpdate) return;
    isOver = sawA2a(server, told, { version: "1.0", sent: whole ? sent : -Infinity }, journal).status === "settled";
  };
  const reply = await requestA2a(server, owner, "SubscribeToTask", { id }, { onResult, waits: true });
  if (reply.kind === "lost") return "lost";
  const { error } = reply.message ?? {};
  if (error?.code === UNSUPPORTED) return "ended before";
  if (error) withoutTask(server, task, "SubscribeToTask", reply, journal);
  else if (!isOver) found("ended, and the task had not");
  else journal.count("streams followed to the end");
  return "followed";
}
