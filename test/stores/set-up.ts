import type { Limits } from "../../src/service/limits";
import type { Created, TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { Phase, TaskDraft } from "../../src/task/task";
import { limits as defaults, movableClock } from "../support/memory";
import { draft as blank } from "../support/task";
import type { StoreParts } from "./stage";
import { registry } from "./tools";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** An empty store with the tools of these tests, and what a test of it says often. */
export async function setUpStore(
  makeStore: (parts: StoreParts) => TaskStore | Promise<TaskStore>,
  over: Partial<Limits> = {},
) {
  const { now: clock, advance } = movableClock();
  const store = await makeStore({ registry, clock, limits: { ...defaults, ...over } });
  const draft = (tool: string, facts: Partial<TaskDraft> = {}): TaskDraft =>
    blank({ id: store.mint(), namespace: "n", owner: "o", tool, createdAt: clock(), ttlMs: 24 * HOUR, ...facts });
  const create = async (tool: string, facts: Partial<TaskDraft> = {}) => taskOf(await store.create(draft(tool, facts)));
  const inPhase = (phase: Phase) => async (id: string) => {
    await until(async () => (await store.read({ id, owner: "o" }))?.stage.phase === phase);
    return (await store.read({ id, owner: "o" })) as TaskSnapshot;
  };
  const rows = async () => (await store.list({ namespace: "n", owner: "o", limit: 1_000 })).rows;
  return {
    store,
    clock,
    advance,
    draft,
    create,
    rows,
    until,
    settled: inPhase("settled"),
    waiting: inPhase("input_required"),
    resultText,
  };
}

/** Looks again until it holds; the test's own time limit ends the wait. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

export function taskOf(created: Created | undefined): TaskSnapshot {
  if (created?.kind !== "created" && created?.kind !== "existing")
    throw new Error(`No task: ${JSON.stringify(created)}`);
  return created.task;
}

export function resultText(task: TaskSnapshot): string {
  if (task.stage.phase !== "settled" || task.stage.outcome.kind !== "result")
    throw new Error(`No result: ${JSON.stringify(task.stage)}`);
  return (JSON.parse(task.stage.outcome.result) as { content: { text: string }[] }).content[0]?.text ?? "";
}
