import { toldOf } from "../../src/service/snapshot";
import type { TaskSnapshot } from "../../src/service/task-store";
import type { InputRequest, LogEntry, Outcome, Task, TaskDraft } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import type { ToolResult } from "../../src/tool/define-tool";
import { draft } from "../support/task";

export type Life = {
  readonly task: Task;
  readonly entries: readonly LogEntry[];
  /** The task after each entry. */
  readonly stages: readonly Task[];
};

/** A task that went through these events. */
export function life(over: Partial<TaskDraft>, ...events: readonly TaskEvent[]): Life {
  const created = createTask(draft(over));
  let { task } = created;
  const entries = [created.entry];
  const stages = [task];
  for (const event of events) {
    const next = transition(task, event);
    task = next.task;
    if (!next.entry) continue;
    entries.push(next.entry);
    stages.push(task);
  }
  return { task, entries, stages };
}

/** As whoever asks for everything reads it. */
export const read = (task: Task): TaskSnapshot => toldOf(task, { conversation: true });

export const started = (at = 1_100): TaskEvent => ({ type: "started", at });

export const progressed = (at: number, message?: string): TaskEvent => ({
  type: "progressed",
  at,
  progress: { progress: 1, total: 4, ...(message === undefined ? {} : { message }) },
});

export const form = (message: string): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } } },
});

export const login = (message: string, url: string): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "url", message, url, elicitationId: "e1" },
});

export const sampling: InputRequest = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Think." } }], maxTokens: 10 },
};

export const asked = (at: number, requests: Readonly<Record<string, InputRequest>>): TaskEvent => ({
  type: "asked",
  at,
  questions: Object.entries(requests).map(([authorKey, request]) => ({
    authorKey,
    occurrence: 1,
    request,
    deadline: 90_000,
  })),
  sleeps: [],
  ttlMs: 100_000,
});

export const answered = (at: number, keys: readonly string[], message?: string): TaskEvent => ({
  type: "answered",
  at,
  answers: Object.fromEntries(keys.map((key) => [key, '{"action":"accept","content":{"ok":true}}'])),
  refused: {},
  ...(message === undefined ? {} : { turn: { id: `m${at}`, digest: message, at, message } }),
});

export const settled = (at: number, outcome: Outcome, statusMessage: string | null = null): TaskEvent => ({
  type: "settled",
  at,
  outcome,
  statusMessage,
  minTtlMs: 5_000,
});

export const resulted = (result: ToolResult): Outcome => ({
  kind: "result",
  result: JSON.stringify(result),
  isError: result.isError === true,
});

export const failed = (at: number, retryAt: number | null, reason: string): TaskEvent => ({
  type: "attempt_failed",
  at,
  retryAt,
  statusMessage: reason,
  giveUp: { kind: "error", error: { code: -32603, message: reason } },
  minTtlMs: 5_000,
});
