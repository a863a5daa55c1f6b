import { type Conversation, type Exchange } from "../../json-rpc";
import { TaskError } from "../../task/errors";
import { isObject, type JsonText } from "../../task/json";
import { takePlace } from "../place";
import { readParams } from "../schemas";
import { telling } from "../telling";
import type { Call } from "./call";
import { subscriptionMeta, toResult } from "./results";
import { ListenParams } from "./schemas";
import { requireTasks } from "./tasks-extension";
import { toGoneNotification, toTaskNotification } from "./view";

/** Each followed task is a connection to where it lives. */
const MAX_TASK_IDS = 100;

/** What of the wish is granted; the acknowledgment says just this (subscriptions §Acknowledgment). */
type Granted = { readonly toolsListChanged?: true; readonly taskIds?: readonly string[] };

export async function listen(call: Call): Promise<Conversation> {
  const wish = call.params["notifications"];
  if (isObject(wish) && Object.hasOwn(wish, "taskIds")) requireTasks(call.capabilities, "Listening to tasks");
  const { notifications } = readParams(call, ListenParams);
  const asked = notifications.taskIds ?? [];
  if (asked.length > MAX_TASK_IDS)
    throw new TaskError("invalid", `params.notifications.taskIds may name at most ${MAX_TASK_IDS} tasks.`);
  // Tasks that are missing or somebody else's are left out without a word.
  const taskIds = asked.length === 0 ? [] : await call.deps.tasks.readable(call.principal, asked);
  const granted: Granted = {
    ...(notifications.toolsListChanged ? { toolsListChanged: true } : {}),
    ...(taskIds.length === 0 ? {} : { taskIds }),
  };
  return { stream: "at_once", run: (exchange) => converse(call, granted, exchange) };
}

/** Acknowledges, tells, and ends with the listen result when there is nothing left to tell (§Graceful Closure). */
async function converse(call: Call, granted: Granted, exchange: Exchange): Promise<JsonText> {
  const { id, principal, deps } = call;
  const endsAt = principal.kind === "identified" ? principal.expiresAt : null;
  // A stream must not outlive the credential it was opened with.
  await telling(exchange.signal, { endsAt, clock: deps.clock }, async (signal) => {
    // A stream of nothing ends at once and takes no place.
    if (Object.keys(granted).length > 0) await deps.tasks.occupy(principal, signal);
    const toolList = granted.toolsListChanged ? await followToolList(call, signal) : null;
    const acknowledged = exchange.notify(
      "notifications/subscriptions/acknowledged",
      JSON.stringify({ notifications: granted, _meta: subscriptionMeta(id) }),
    );
    await Promise.all([
      acknowledged,
      tellTasks(call, granted, exchange, signal),
      tellToolList(call, toolList, exchange, signal),
    ]);
  });
  return toResult("complete", { _meta: subscriptionMeta(id) });
}

async function tellTasks(
  { id, principal, deps }: Call,
  { taskIds }: Granted,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  if (!taskIds) return;
  for await (const { kind, task } of deps.tasks.follow(principal, taskIds, signal)) {
    if (signal.aborted) return;
    const params = kind === "task" ? toTaskNotification(task, id) : toGoneNotification(task, id, deps.clock());
    // At the reader's pace: a snapshot may be large.
    await exchange.notify("notifications/tasks", params);
  }
}

/** Resolves when nothing is missed any more: what is acknowledged must hold from then on. */
async function followToolList({ deps, principal }: Call, signal: AbortSignal): Promise<AsyncIterable<unknown>> {
  // The tasks may have settled long before this ends.
  await takePlace(deps.tasks, principal, signal);
  const news = deps.tools.changes(signal)[Symbol.asyncIterator]();
  await news.next();
  return { [Symbol.asyncIterator]: () => news };
}

async function tellToolList(
  { id }: Call,
  changes: AsyncIterable<unknown> | null,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  if (!changes) return;
  const params = JSON.stringify({ _meta: subscriptionMeta(id) });
  for await (const _ of changes) {
    if (signal.aborted) return;
    await exchange.notify("notifications/tools/list_changed", params);
  }
}
