import type { StreamResponse } from "@a2a-js/sdk";
import type { TaskSnapshot } from "../service/task-store";
import type { LogEntry, TaskEventName } from "../task/task";
import { TASK_FACTS_URI } from "./extensions";
import { artifactsOf, contextIdOf, statusOf } from "./view";

/** Which entries of a log a client hears of. What settles a task it always hears of. */
const NEWS: Readonly<Record<TaskEventName, boolean | "first" | "setback">> = {
  created: false,
  offered: false,
  claimed: "first",
  released: false,
  lease_lapsed: "setback",
  started: "first",
  restarted: false,
  progressed: true,
  stepped: false,
  asked: true,
  slept: false,
  answered: true,
  said: true,
  questions_lapsed: true,
  attempt_failed: "setback",
  settled: true,
  cancelled: true,
  expired: true,
};

/**
 * What one entry of a task's log tells a stream or a push target (A2A 1.0 §3.5.2, §4.2). `read` gives the task as it
 * stands, of a settled one with what it came to; null when it is gone.
 */
export async function updatesOf(entry: LogEntry, read: () => Promise<TaskSnapshot | null>): Promise<StreamResponse[]> {
  const { event, phase, progress } = entry;
  const news = phase === "settled" || NEWS[event];
  // With questions open, a setback changes nothing that anybody sees.
  if (news === false || (news === "setback" && phase !== "working")) return [];
  const task = await read();
  if (!task || (news === "first" && task.startedAt !== entry.at)) return [];
  const ids = { taskId: task.id, contextId: contextIdOf(task) };
  const metadata = progress && { [TASK_FACTS_URI]: { progress } };
  const status: StreamResponse = {
    payload: { $case: "statusUpdate", value: { ...ids, status: statusOf(asOf(task, entry)), metadata } },
  };
  return phase === "settled" ? [...artifactUpdates(task, ids), status] : [status];
}

/**
 * The task as it stood at an entry of its log, from a later reading: of its questions those that are still open, if it
 * has been waiting ever since.
 */
export function asOf(task: TaskSnapshot, { at, phase, statusMessage, progress }: LogEntry): TaskSnapshot {
  if (phase === "settled") return task;
  const told = { statusMessage, progress: progress ?? null };
  const then = { ...task, ...told, updatedAt: at, statusAt: Math.min(task.statusAt, at) };
  if (task.stage.phase === phase && task.statusAt <= at) return then;
  const stage = phase === "working" ? ({ phase, activity: { kind: "running" } } as const) : { phase };
  return { ...then, stage, openQuestions: [] };
}

/** Part by part: a client shows the first before the last has come. */
function artifactUpdates(task: TaskSnapshot, ids: { taskId: string; contextId: string }): StreamResponse[] {
  return artifactsOf(task).flatMap((artifact) =>
    artifact.parts.map((part, index, { length }): StreamResponse => {
      const append = index > 0;
      const value = {
        ...ids,
        artifact: { ...artifact, parts: [part], metadata: append ? undefined : artifact.metadata },
        append,
        lastChunk: index === length - 1,
        metadata: undefined,
      };
      return { payload: { $case: "artifactUpdate", value } };
    }),
  );
}
