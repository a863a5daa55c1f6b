import type { JsonObject } from "../task/json";
import { TaskError } from "../task/errors";
import type { TaskEvent } from "../task/transition";
import type { RegisteredTool } from "../tool/registry";
import { DurableRun, type RunHolder } from "./durable-run";
import { endingOf, endingOfThrown, swallowed, type Ending } from "./ending";
import { isSuspension, RunAborted, Suspension, unlessAborted } from "./suspension";

export type RunEnd =
  | { readonly kind: "ended"; readonly ending: Ending }
  /** The event says what it waits for. */
  | { readonly kind: "suspended"; readonly event: Extract<TaskEvent, { type: "asked" | "slept" }> }
  | { readonly kind: "aborted"; readonly cause: RunAborted["cause"] };

/** One run of a task's tool, from the top: what is settled already comes back, the rest is done now. Never throws. */
export async function runTool(tool: RegisteredTool, holder: RunHolder, signal: AbortSignal): Promise<RunEnd> {
  const run = new DurableRun(holder, signal);
  try {
    const parsed = tool.parseArguments(JSON.parse(holder.task().arguments) as JsonObject);
    if (!parsed.ok) throw new TaskError("invalid", `The task's arguments do not fit the tool: ${parsed.message}`);
    const done = await unlessAborted(
      signal,
      attempt(run, () => carryOut(tool, parsed.value, run, holder)),
    );
    return conclude(tool, run, done, holder.limits.resultLimitBytes);
  } catch (thrown) {
    if (!signal.aborted) return { kind: "ended", ending: endingOfThrown(tool, thrown) };
    return { kind: "aborted", cause: signal.reason instanceof RunAborted ? signal.reason.cause : "settled" };
  } finally {
    await run.close();
  }
}

/** With what its `prepare` returned, where nobody called it before the task existed: it may ask and refuse like a run. */
async function carryOut(
  { tool }: RegisteredTool,
  args: unknown,
  run: DurableRun,
  { task }: RunHolder,
): Promise<unknown> {
  const context = run.context();
  const { unprepared, steps } = task();
  if (!unprepared) return tool.run(args, context);
  const { client, signal, fetch, ask } = context;
  // Once: what it found is not looked for again after each suspension.
  const found = steps.has(PREPARED) ? null : await tool.prepare?.(args, { client, signal, fetch, ask });
  const { prepared, asked } = await context.step(PREPARED, () => ({ prepared: found, asked: task().questions.length }));
  run.passOver(asked);
  return tool.run(args, { ...context, prepared });
}

/** The step that is no author's. */
const PREPARED = "\0prepared";

type Done = { readonly returned: unknown } | { readonly thrown: unknown };

async function attempt(run: DurableRun, work: () => unknown): Promise<Done> {
  try {
    return { returned: await work() };
  } catch (thrown) {
    return { thrown };
  } finally {
    // A step that began beside what ended the run is finished and stored: it would otherwise be done twice.
    await run.drain();
  }
}

function conclude(tool: RegisteredTool, run: DurableRun, done: Done, limitBytes: number): RunEnd {
  const ended = (ending: Ending): RunEnd => ({ kind: "ended", ending });
  if ("returned" in done) return ended(run.suspended() ? swallowed(tool) : endingOf(tool, done.returned, limitBytes));
  const { thrown } = done;
  if (run.suspended() && thrown instanceof Suspension) return { kind: "suspended", event: run.suspension() };
  // What failed beside a question is a failure like any other; only the suspension itself must not be wrapped.
  return ended(isSuspension(thrown) ? swallowed(tool) : endingOfThrown(tool, thrown));
}
