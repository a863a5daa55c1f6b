import type { Principal } from "../service/principal";
import type { TaskService } from "../service/task-service";

/**
 * An owner's streams are counted at its feed, so one that tells of no tasks must be there as well. Until the signal
 * aborts; throws `limit_reached`. (`TaskService.occupy` counts those of anonymous callers.)
 */
export async function takePlace(
  tasks: Pick<TaskService, "changes">,
  principal: Principal,
  signal: AbortSignal,
): Promise<void> {
  if (principal.kind === "anonymous") return;
  const feed = tasks.changes(principal, signal)[Symbol.asyncIterator]();
  await feed.next();
  void passOver(feed).catch(() => {});
}

async function passOver(feed: AsyncIterator<unknown>): Promise<void> {
  while ((await feed.next()).done !== true);
}
