import type { ListTasksRequest, ListTasksResponse } from "@a2a-js/sdk";
import { ownerOf, type Principal } from "../service/principal";
import type { TaskListRow, TaskSearch } from "../service/task-store";
import { TaskError } from "../task/errors";
import type { A2aDeps } from "./deps";
import { standingFor } from "./states";
import { toTask } from "./view";

const PURPOSE = "a2a-page";
/** Long enough for whoever reads on after lunch. */
const TOKEN_TTL_MS = 86_400_000;

const PAGE_SIZE = 50;

/** A Worker waits for so many objects at a time. */
const READS_AT_ONCE = 6;

/** The caller's own tasks, newest status first (A2A 1.0 §3.1.4). What it shows of each is read from the task itself. */
export async function listTasks(
  deps: A2aDeps,
  principal: Principal,
  request: ListTasksRequest,
): Promise<ListTasksResponse> {
  const { contextId, status, pageSize = PAGE_SIZE, pageToken, statusTimestampAfter } = request;
  const standing = standingFor(status);
  const after = pageToken === "" ? undefined : await openToken(deps, principal, pageToken);
  const page = await deps.tasks.search(principal, {
    limit: pageSize,
    ...(contextId === "" ? {} : { contextId }),
    ...(standing === undefined ? {} : { standing }),
    ...(statusTimestampAfter === undefined ? {} : { since: Date.parse(statusTimestampAfter) }),
    ...(after === undefined ? {} : { after }),
  });
  const last = page.rows.at(-1);
  return {
    tasks: await readAll(deps, principal, page.rows, request),
    nextPageToken: page.more && last ? await sealToken(deps, principal, last) : "",
    pageSize,
    totalSize: page.total,
  };
}

/** One that was collected since the index was asked is left out. */
async function readAll(
  { tasks }: A2aDeps,
  principal: Principal,
  rows: readonly TaskListRow[],
  { historyLength = 0, includeArtifacts = false }: ListTasksRequest,
): Promise<ListTasksResponse["tasks"]> {
  const read: ListTasksResponse["tasks"] = [];
  for (let at = 0; at < rows.length; at += READS_AT_ONCE) {
    const options = { body: includeArtifacts, conversation: historyLength > 0 };
    const some = rows.slice(at, at + READS_AT_ONCE).map(({ id }) => tasks.peek(principal, id, options));
    for (const task of await Promise.all(some)) {
      if (task) read.push(toTask(task, { historyLength, artifacts: includeArtifacts }));
    }
  }
  return read;
}

const sealToken = ({ sealer, clock }: A2aDeps, principal: Principal, { statusAt, id }: TaskListRow): Promise<string> =>
  sealer.seal(
    PURPOSE,
    { statusAt, id },
    { principal: ownerOf(principal) ?? "anonymous", expiresAt: clock() + TOKEN_TTL_MS },
  );

async function openToken(
  { sealer }: A2aDeps,
  principal: Principal,
  token: string,
): Promise<NonNullable<TaskSearch["after"]>> {
  const { statusAt, id } = (await sealer.open(PURPOSE, token, ownerOf(principal) ?? "anonymous")) ?? {};
  if (typeof statusAt === "number" && typeof id === "string") return { statusAt, id };
  throw new TaskError("invalid", "pageToken is none of yours, or it has expired; begin the list anew.");
}
