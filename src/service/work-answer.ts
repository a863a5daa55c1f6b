import type { JsonText } from "../task/json";
import { expiresAt, outstanding, type Lease, type Task } from "../task/task";
import type { Worked } from "./work";
import type { HeldWork, Work, WorkAnswer, WorkState } from "./work-service";

/** A task for the worker that has just claimed it. */
export function toWork(task: Task, lease: Lease, retentionMs: number): Work {
  const { tool, owner, arguments: args, attempts, createdAt, ttlMs, contextId, client } = task;
  return {
    ...toHeldWork(task, lease),
    tool,
    owner,
    arguments: args,
    attempt: attempts + 1,
    createdAt,
    ttlMs,
    expiresAt: expiresAt(task, retentionMs),
    contextId,
    client: { revision: client.revision, capabilities: client.capabilities },
  };
}

/** What a store answered under this lease. */
export function toWorkAnswer(worked: Exclude<Worked, { readonly kind: "refused" }>, lease: string): WorkAnswer {
  const { kind, task } = worked;
  // Whoever lost its lease learns where the task stands, and never under which lease.
  if (kind !== "held" || task.lease?.id !== lease)
    return { kind: kind === "held" ? "lost" : kind, state: stateOf(task) };
  return { kind, work: toHeldWork(task, task.lease) };
}

function toHeldWork(task: Task, { id, until }: Lease): HeldWork {
  return {
    taskId: task.id,
    lease: id,
    leaseUntil: until,
    answers: answersOf(task),
    openQuestions: outstanding(task).map(({ key, request }) => ({ key, request })),
  };
}

/** By the worker's key; a Map on the way, since a key may be `__proto__`. */
function answersOf({ questions }: Task): Readonly<Record<string, JsonText>> {
  const answers = new Map<string, JsonText>();
  for (const { authorKey, state } of questions) if (state.kind === "answered") answers.set(authorKey, state.answer);
  return Object.fromEntries(answers);
}

const stateOf = ({ stage, statusMessage }: Task): WorkState => ({
  phase: stage.phase,
  outcome: stage.phase === "settled" ? stage.outcome.kind : null,
  isError: stage.phase === "settled" && stage.outcome.kind === "result" && stage.outcome.isError,
  statusMessage,
});
