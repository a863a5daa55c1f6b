import type { Clock } from "../clock";
import type { Lease, Task } from "../task/task";
import type { Limits } from "./limits";
import type { TaskStore } from "./task-store";
import { whileWaiting } from "./while-waiting";
import { toWork } from "./work-answer";
import type { Picked, WorkQueue } from "./work-queue";
import type { ClaimWish, Work } from "./work-service";

/** A queue may propose tasks that are over; past so many the worker comes again, before the platform stops this call. */
const MOST_ASKED = 200;

/** A Worker waits for so many objects at a time, and has only so much memory for what they bring. */
const AT_ONCE = 6;
const MOST_LENGTH = 16_777_216;

type Parts = {
  readonly store: Pick<TaskStore, "work">;
  readonly queue: WorkQueue;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** `key` names the claim, for its caller only. */
type Claim = Required<ClaimWish> & { readonly key: string };

/** What there is for a worker to do: at once, or else the first that comes while it waits. */
export async function claimWork(parts: Parts, claim: Claim, signal: AbortSignal): Promise<readonly Work[]> {
  // Nobody would hear of what was claimed now.
  if (signal.aborted) return [];
  const works = await takeWork(parts, claim);
  if (works.length > 0 || claim.waitMs === 0) return works;
  // One watch for all the wait: its first message tells of what came since the claim found nothing.
  for await (const _ of whileWaiting((over) => parts.queue.watch(over), claim.waitMs, signal)) {
    const found = await takeWork(parts, claim);
    if (found.length > 0) return found;
  }
  return [];
}

/** The queue proposes, the tasks decide, the queue is told; once more where none of them was to be had. */
async function takeWork(parts: Parts, claim: Claim): Promise<readonly Work[]> {
  const { queue, clock } = parts;
  const { key, max, tools, leaseMs } = claim;
  for (let asked = 0; asked < MOST_ASKED;) {
    const now = clock();
    const picks = await queue.pick({ key, max, now, until: now + leaseMs, tools });
    if (picks.length === 0) return [];
    asked += picks.length;
    const { held, gone, failed } = await askTasks(parts, claim, picks);
    const told = queue.agreed(held.map(leaseOf), gone, clock());
    if (held.length > 0) {
      // They are claimed whether or not the queue hears of it.
      await told.catch(() => {});
      return held.map(({ task, lease }) => toWork(task, lease, parts.limits.retentionMs));
    }
    await told;
    if (failed.length > 0) throw failed[0];
  }
  return [];
}

type Held = { readonly task: Task; readonly lease: Lease };

const leaseOf = ({ task, lease }: Held): Picked => ({ id: task.id, lease: lease.id, until: lease.until });

async function askTasks({ store }: Parts, { worker, leaseMs }: Claim, picks: readonly Picked[]) {
  const held: Held[] = [];
  const gone: Picked[] = [];
  const failed: unknown[] = [];
  let length = 0;
  const ask = async (pick: Picked) => {
    const lease = { id: pick.lease, until: pick.until, worker, ms: leaseMs };
    const worked = await store.work(pick.id, { kind: "claim", lease });
    return { pick, held: worked?.kind === "held" && { task: worked.task, lease: worked.task.lease ?? lease } };
  };
  // What is not asked any more waits on in the queue when its pick is over.
  for (let n = 0; n < picks.length && length < MOST_LENGTH; n += AT_ONCE) {
    for (const said of await Promise.allSettled(picks.slice(n, n + AT_ONCE).map(ask))) {
      // It may be claimed or not: the same claim is given it again.
      if (said.status === "rejected") failed.push(said.reason);
      else if (said.value.held) {
        held.push(said.value.held);
        length += said.value.held.task.arguments.length;
      } else gone.push(said.value.pick);
    }
  }
  return { held, gone, failed };
}
