import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import type { Call } from "../legacy/call";
import { ListParams } from "../legacy/schemas";
import { listPage } from "../list-page";
import { readParams } from "../schemas";
import { TaskParams } from "./schemas";
import { toTask } from "./view";

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
  throw new TaskError("settled", `The task cannot be cancelled: it is ${toTask(task).status} already.`);
}

/** Some may have expired since the list was made. */
export async function listTasks(call: Call): Promise<JsonText> {
  const { deps, principal } = call;
  const { rows, nextCursor } = await listPage(deps, principal, readParams(call, ListParams).cursor);
  const tasks = await Promise.all(rows.map(({ id }) => deps.tasks.peek(principal, id)));
  return JSON.stringify({ tasks: tasks.filter((task) => task !== null).map(toTask), nextCursor });
}
