import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import type { Call } from "../legacy/call";
import { ListParams } from "../legacy/schemas";
import { openCursor, sealCursor } from "../../list-cursor";
import { readParams } from "../schemas";
import { TaskParams } from "./schemas";
import { toStatus, toTask } from "./view";

const PAGE = 50;

/** Never a stream: the client has said that it polls (tasks §Input Required Status). */
export async function getTask(call: Call): Promise<JsonText> {
  const { taskId } = readParams(call, TaskParams);
  return JSON.stringify(toTask(await call.deps.tasks.get(call.principal, taskId, { body: false })));
}

/** Cancelled when it is answered, and for good; what has ended already cannot be (tasks §Task Cancellation). */
export async function cancelTask(call: Call): Promise<JsonText> {
  const { taskId } = readParams(call, TaskParams);
  const { task, changed } = await call.deps.tasks.cancel(call.principal, taskId);
  if (changed) return JSON.stringify(toTask(task));
  throw new TaskError("settled", `The task cannot be cancelled: it is ${toStatus(task)} already.`);
}

/** The caller's own, newest first. A cursor stays good when the task it names is gone. */
export async function listTasks(call: Call): Promise<JsonText> {
  const { deps, principal } = call;
  const { cursor } = readParams(call, ListParams);
  const after = cursor === undefined ? undefined : await openCursor(deps, principal, "createdAt", cursor);
  const { rows, more } = await deps.tasks.list(principal, { limit: PAGE, ...(after && { after }) });
  const tasks = await Promise.all(rows.map(({ id }) => deps.tasks.peek(principal, id)));
  const last = more ? rows.at(-1) : undefined;
  const nextCursor = last && (await sealCursor(deps, principal, "createdAt", last));
  // Some may have expired since the list was made.
  return JSON.stringify({ tasks: tasks.flatMap((task) => (task ? [toTask(task)] : [])), nextCursor });
}
