import { isExpired, outstanding, type Task } from "../task/task";
import { LeasedRun, type LeasedRunParts } from "./leased-run";

const HEARTBEAT_MS = 10_000;

/** A run that says nothing for so long is asked after at its engine. */
const LEASE_MS = 30_000;

/** A store that cannot be reached, or a task that somebody else has, is left alone for so long. */
const PAUSE_MS = 10_000;

/** So little is waited for here: the engine refuses an end that has passed. */
const SHORT_MS = 1_000;

/** The engine waits for a year at most; what is longer comes in pieces. */
const LONGEST_MS = 300 * 86_400_000;

/** Whoever keeps the task closes its questions in time and wakes the Workflow; so long after it looks for itself. */
const UNCALLED_MS = 5_000;

/** An engine's name for a step has 256 characters at most, and none for control. */
const MAX_KEY_LENGTH = 200;

/**
 * What the platform does for a Workflow. Each of these rejects when the platform ends this life of the Workflow; that
 * must be let through.
 */
export type WorkflowEngine = {
  /** Does the work of a step, which takes so many ms at most and never rejects: how it ended is told for people. */
  readonly step: (name: string, limitMs: number, work: () => Promise<StepEnd>) => Promise<void>;
  readonly sleep: (name: string, ms: number) => Promise<void>;
  /** Until somebody wakes the Workflow, or the time is over. */
  readonly wait: (name: string, ms: number) => Promise<void>;
};

/** The value, or what was thrown, may be more than the platform could carry. */
export type StepEnd = PromiseSettledResult<unknown>["status"];

export type WorkflowRunParts = Omit<LeasedRunParts, "lease" | "step"> & {
  readonly engine: WorkflowEngine;
  /** A name for a lease that none had before. */
  readonly newLease: () => string;
};

/**
 * The life of a task in its Workflow: run after run of its tool, and the waits between them. Only the task knows what was
 * done, so a Workflow that begins again from the top begins with a claim, like any other run.
 */
export async function runWorkflow(parts: WorkflowRunParts): Promise<void> {
  for (;;) {
    const turn = await takeTurn(parts);
    if (turn.reached && isOver(turn.task, parts)) return;
    await rest(turn.task, parts);
  }
}

/** Where the task stands after it. */
type Turn = { readonly reached: boolean; readonly task: Task | null };

/** One run of the tool, where it may run now. */
async function takeTurn(parts: WorkflowRunParts): Promise<Turn> {
  const { engine, newLease, log } = parts;
  const stopped: unknown[] = [];
  const run: LeasedRun = new LeasedRun({
    ...parts,
    lease: { id: newLease(), worker: "workflow", ms: LEASE_MS },
    step: async (key, limitMs, work) => {
      const name = nameOf(`step ${key}`, run.task());
      const end = await carriedOut(engine, name, limitMs, work).catch((reason: unknown): never => {
        // This life of the Workflow ends, and the run with it, which the next one repeats.
        stopped.push(reason);
        run.stop();
        throw reason;
      });
      if (end.status === "rejected") throw end.reason;
      return end.value;
    },
  });
  try {
    if (await run.claim()) {
      const beat = setInterval(() => void run.heartbeat(), HEARTBEAT_MS);
      await run.perform().finally(() => clearInterval(beat));
    }
  } catch (error) {
    log("error", "A Workflow could not reach its task.", { error: String(error) });
    return { reached: false, task: null };
  }
  if (stopped.length > 0) throw stopped[0];
  return { reached: true, task: run.task() };
}

/** Rejects when it is the engine that fails. */
async function carriedOut<T>(
  engine: WorkflowEngine,
  name: string,
  limitMs: number,
  work: () => Promise<T>,
): Promise<PromiseSettledResult<T>> {
  const ends: PromiseSettledResult<T>[] = [];
  await engine.step(name, limitMs, async () => {
    const [end] = await Promise.allSettled([work()]);
    ends.push(end);
    return end.status;
  });
  const [end] = ends;
  if (!end) throw new Error(`The engine left out the step ${JSON.stringify(name)}.`);
  return end;
}

const isOver = (task: Task | null, { clock, limits }: WorkflowRunParts): boolean =>
  task === null || task.stage.phase === "settled" || isExpired(task, clock(), limits.retentionMs);

/** Until the task may go on, as far as is known. */
async function rest(task: Task | null, { engine, clock }: WorkflowRunParts): Promise<void> {
  if (task?.stage.phase === "input_required") {
    const deadline = Math.min(...outstanding(task).map((question) => question.deadline));
    return engine.wait(nameOf("answer", task), inRange(deadline + UNCALLED_MS - clock()));
  }
  const until = wakesAt(task, clock());
  if (until === null) return engine.sleep(nameOf("pause", task), PAUSE_MS);
  const ms = until - clock();
  if (ms > SHORT_MS) return engine.sleep(nameOf("sleep", task), inRange(ms));
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** When its next run begins, Unix ms; null where there should be one already, and somebody else may have it. */
function wakesAt(task: Task | null, now: number): number | null {
  if (task?.stage.phase !== "working") return null;
  const { activity } = task.stage;
  // A run of ours was lost, and whoever woke the Workflow meanwhile will not do so again soon.
  if (activity.kind === "due") return now + SHORT_MS;
  return activity.kind === "sleeping" || activity.kind === "backing_off" ? activity.until : null;
}

const inRange = (ms: number): number => Math.min(LONGEST_MS, Math.max(SHORT_MS, ms));

/** The same wait of the same task has the same name, and no step of another run has: what the engine keeps misleads nobody. */
function nameOf(what: string, task: Task | null): string {
  // oxlint-disable-next-line no-control-regex
  const legible = what.slice(0, MAX_KEY_LENGTH).replace(/[\x00-\x1f]/g, " ");
  return task === null ? legible : `${legible} (${task.version})`;
}
