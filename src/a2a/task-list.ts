import type { ListTasksRequest, ListTasksResponse } from "@a2a-js/sdk";
import { openCursor, sealCursor } from "../list-cursor";
import type { Principal } from "../service/principal";
import type { TaskListRow, TaskSnapshot } from "../service/task-store";
import type { A2aDeps } from "./deps";
import { standingFor } from "./states";
import { toTask } from "./view";

const PAGE_SIZE = 50;

/** A Worker waits for so many objects at a time. */
const READS_AT_ONCE = 6;
/** Each of them may be tens of megabytes, and a Worker has 128 for all that it does. */
const LONG_READS_AT_ONCE = 2;

/** Characters. A page that holds as many ends there, and the next one goes on. */
export const LONGEST_PAGE = 4_000_000;

/** The caller's own tasks, newest status first (A2A 1.0 §3.1.4). What it shows of each is read from the task itself. */
export async function listTasks(
  deps: A2aDeps,
  principal: Principal,
  request: ListTasksRequest,
): Promise<ListTasksResponse> {
  const { contextId, status, pageSize = PAGE_SIZE, pageToken, statusTimestampAfter } = request;
  const standing = standingFor(status);
  const after = pageToken === "" ? undefined : await openCursor(deps, principal, "statusAt", pageToken);
  const page = await deps.tasks.search(principal, {
    limit: pageSize,
    ...(contextId && { contextId }),
    ...(standing && { standing }),
    ...(statusTimestampAfter && { since: Date.parse(statusTimestampAfter) }),
    ...(after && { after }),
  });
  const { read, rest } = await readAll(deps, principal, page.rows, request);
  const last = page.rows.at(-1 - rest);
  return {
    tasks: read,
    nextPageToken: (page.more || rest > 0) && last ? await sealCursor(deps, principal, "statusAt", last) : "",
    pageSize,
    totalSize: page.total,
  };
}

/** One that was collected since the index was asked is left out. `rest`: how many have no place on the page. */
async function readAll(
  { tasks }: A2aDeps,
  principal: Principal,
  rows: readonly TaskListRow[],
  { historyLength = 0, includeArtifacts = false }: ListTasksRequest,
): Promise<{ readonly read: ListTasksResponse["tasks"]; readonly rest: number }> {
  const read: ListTasksResponse["tasks"] = [];
  const options = { body: includeArtifacts, conversation: historyLength > 0 };
  const atOnce = includeArtifacts || historyLength > 0 ? LONG_READS_AT_ONCE : READS_AT_ONCE;
  let at = 0;
  for (let length = 0; at < rows.length && length < LONGEST_PAGE; at += atOnce) {
    const some = rows.slice(at, at + atOnce).map(({ id }) => tasks.peek(principal, id, options));
    for (const task of await Promise.all(some)) {
      if (!task) continue;
      length += lengthOf(task);
      read.push(toTask(task, { historyLength, artifacts: includeArtifacts }));
    }
  }
  return { read, rest: Math.max(0, rows.length - at) };
}

/** Of what may be long in it. */
function lengthOf({ stage, conversation }: TaskSnapshot): number {
  const { extras = null, arguments: args = "", turns = [] } = conversation ?? {};
  const result = stage.phase === "settled" && stage.outcome.kind === "result" ? stage.outcome.result : "";
  const texts = [result, extras ?? "", args, ...turns.map(({ message }) => message)];
  return texts.reduce((length, text) => length + text.length, 0);
}
