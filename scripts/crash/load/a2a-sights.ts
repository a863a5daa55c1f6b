// What A2A shows of a task, in the journal's words.
import type { Acknowledged, Journal, Outcome, Sight } from "../journal.ts";
import type { Server } from "../server.ts";
import type { Answered, Fields } from "../wire.ts";
import type { A2aMessage, A2aPart, A2aTask, A2aVersion } from "./a2a-client.ts";
import { stepsIn } from "./errands.ts";
import { refusal } from "./refusals.ts";
import { CANCELLED, expiryOf } from "./sights.ts";

const NOT_FOUND = -32001;
const TASK_FACTS = "https://holdfast.dev/a2a/task-facts/v1";

/** What is told of a task: all of it, or, without its history, what a stream has told so far. */
export function sawA2a(
  server: Server,
  told: A2aTask,
  { version, sent }: { readonly version: A2aVersion; readonly sent: number },
  journal: Journal,
): Sight {
  const view = `A2A ${version}`;
  // Only a list writes down that there are none.
  const text = JSON.stringify({ ...told, artifacts: told.artifacts ?? [] });
  const sight = sightOfA2a(told, { view, text, sent });
  const expiresAt = journal.tasks.get(told.id)?.expiresAt ?? Infinity;
  // Who watches hears of that as of a failure, and it is no end of the task's own.
  if (!told.history && sight.status === "settled" && server.now() >= expiresAt) {
    journal.missing(told.id, view, server.now());
    return sight;
  }
  if (told.history) journal.saw(told.id, sight);
  journal.saw(told.id, { ...sight, view: `the end over ${view}`, text: endTextOf(told) });
  return sight;
}

export function sightOfA2a(task: A2aTask, seen: Pick<Sight, "view" | "text" | "sent">): Sight {
  const { status, metadata, history } = task;
  const state = stateOf(status.state);
  const facts = metadata?.[TASK_FACTS] as Fields | undefined;
  const questions = status.message?.parts.flatMap(({ data }) => Object.keys((data?.["inputRequests"] ?? {}) as Fields));
  const steps = state === "working" ? stepsIn(textOf(status.message)) : undefined;
  return {
    ...seen,
    ...(facts ? { expiresAt: expiryOf(facts, "ttlMs") } : {}),
    ...(history ? { said: history.map(({ messageId, parts }) => ({ messageId, text: saidIn(parts) })) } : {}),
    ...(steps ? { steps } : {}),
    ...(state === "input_required"
      ? { status: state, open: questions ?? [] }
      : state === "submitted" || state === "working"
        ? { status: "working", open: [] }
        : { status: "settled", outcome: outcomeOf(state, task) }),
  };
}

/** The state and the artifacts, which every view of the end has; a stream tells the latter part by part. */
export const endTextOf = ({ status, artifacts = [] }: A2aTask): string =>
  JSON.stringify([stateOf(status.state), artifacts.flatMap(({ parts }) => parts)]);

/** Both versions have the same words for it. */
export const saidIn = (parts: readonly A2aPart[]): string =>
  JSON.stringify(parts.map(({ text, data }) => text ?? data));

/** The task is not there; or whatever else was answered in place of it. */
export function withoutTask(
  server: Server,
  { id }: Pick<Acknowledged, "id">,
  view: string,
  reply: Answered,
  journal: Journal,
): void {
  if (reply.message?.error?.code === NOT_FOUND) journal.missing(id, view, server.now());
  else refusal(journal, `${view} for ${id}`, reply);
}

/** `TASK_STATE_INPUT_REQUIRED` and `input-required` are the same. */
const stateOf = (state: string): string => state.replace("TASK_STATE_", "").toLowerCase().replace("-", "_");

const textOf = (message: A2aMessage | undefined): string | undefined =>
  message?.parts.find(({ text }) => text !== undefined)?.text;

function outcomeOf(state: string, { artifacts = [], status }: A2aTask): Outcome {
  if (state === "canceled") return CANCELLED;
  const [first] = artifacts.flatMap(({ parts }) => parts);
  // A failure with something to show is a result that says of itself that it is an error.
  if (first) return { kind: "result", report: first.text ?? null };
  return { kind: state === "completed" ? "result" : "error", report: textOf(status.message) ?? null };
}
