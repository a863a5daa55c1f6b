import type { Clock } from "../clock";
import type { Limits } from "../service/limits";
import type { Created, IdempotencyKey } from "../service/task-store";
import { toSnapshot } from "../service/snapshot";
import { nextWork } from "../task/due";
import { standingOfTask } from "../task/standing";
import { TaskError } from "../task/errors";
import { expiresAt, type TaskDraft } from "../task/task";
import { createTask } from "../task/transition";
import type { D1Tasks } from "./d1-tasks";
import { creating } from "./task-rows";
import { taskSql } from "./task-sql";

const MINUTE_MS = 60_000;

/** How often a create starts over because what was in its way is gone by now. */
const ROUNDS = 4;

type Holder = { id: string; digest: string | null; expires_at: number | null };
type Tally = { stored: number; live: number; minute: number; created: number };

export type AdmissionParts = {
  readonly db: () => Promise<D1Database>;
  readonly tasks: D1Tasks;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** Lets new tasks in: one statement both counts and stores, so the caps are exact under any number of parallel calls. */
export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  async create(draft: TaskDraft, idempotency: IdempotencyKey | undefined): Promise<Created> {
    // Anonymous callers share nothing, keys included.
    const key = draft.owner === null || !idempotency ? null : idempotency;
    for (let round = 0; round < ROUNDS; round += 1) {
      const created = await this.#try(draft, key);
      if (created) return created;
    }
    throw new TaskError("overloaded", "The task could not be stored in time. Try again in a moment.", {
      retryAfterMs: 1_000,
    });
  }

  /** Counts a task that an anonymous caller at this address wants; null, or how long (ms) it must wait. */
  async admit(address: string): Promise<number | null> {
    const db = await this.#parts.db();
    const { limits, clock } = this.#parts;
    const now = clock();
    const minute = minuteOf(now);
    const counted = await db.prepare(taskSql.admit).bind(address, minute, limits.createsPerMinute).first();
    return counted === null ? (minute + 1) * MINUTE_MS - now : null;
  }

  /** Null when what was in the way has expired: it is gone now, and there may be room. */
  async #try(draft: TaskDraft, key: IdempotencyKey | null): Promise<Created | null> {
    const { clock, limits, tasks } = this.#parts;
    const now = clock();
    const { inserted, task, byId, byKey, tally } = await this.#insert(draft, key, now);
    if (inserted) return { kind: "created", task: toSnapshot(task) };
    const holder = byId ?? byKey;
    if (!holder) return refusal(tally, limits, now);
    if (holder.expires_at === null || holder.expires_at > now) {
      if (!byId && holder.digest !== key?.digest) return { kind: "conflict" };
      const stored = await tasks.load(holder.id, "view");
      if (stored && stored.task.owner === draft.owner) return { kind: "existing", task: toSnapshot(stored.task) };
      return null;
    }
    const db = await this.#parts.db();
    await db.prepare(taskSql.remove).bind(holder.id, now).run();
    return null;
  }

  async #insert(draft: TaskDraft, key: IdempotencyKey | null, now: number) {
    const db = await this.#parts.db();
    const { limits } = this.#parts;
    const { task, entry } = createTask({ ...draft, push: [] });
    const { after, record, statements } = creating(db, task, entry);
    const owner = JSON.stringify(task.owner);
    const name = key && JSON.stringify(key.key);
    const minute = minuteOf(now);
    const { namespace, tool, createdAt, origin, stage, statusAt, version } = task;
    const { maxTasksPerOwner, maxLiveTasksPerOwner, createsPerMinute } = limits;
    const facts = [task.id, after.rev, namespace, owner, createdAt, tool, JSON.stringify(task.contextId), origin];
    const state = [stage.phase, null, statusAt, version, nextWork(task), expiresAt(task, limits.retentionMs)];
    const rest = [name, key?.digest ?? null, minute, standingOfTask(task), record];
    const room = [namespace, owner, maxTasksPerOwner, maxLiveTasksPerOwner, minute, createsPerMinute];
    const [, insert, ...more] = await db.batch([
      db.prepare(taskSql.openTally).bind(namespace, owner, minute, now),
      db.prepare(taskSql.insert).bind(...facts, ...state, ...rest, ...room),
      ...statements,
      db.prepare(taskSql.byId).bind(task.id),
      db.prepare(taskSql.byKey).bind(namespace, owner, tool, name),
      db.prepare(taskSql.tally).bind(namespace, owner),
    ]);
    const [byId, byKey, tally] = more.slice(-3).map((found) => found?.results[0]);
    return {
      task,
      inserted: (insert?.results.length ?? 0) > 0,
      byId: byId as Holder | undefined,
      byKey: byKey as Holder | undefined,
      tally: tally as Tally,
    };
  }
}

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);

function refusal({ stored, live, minute }: Tally, limits: Limits, now: number): Created {
  const { maxTasksPerOwner, maxLiveTasksPerOwner, createsPerMinute } = limits;
  if (stored >= maxTasksPerOwner) return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: maxTasksPerOwner };
  if (live >= maxLiveTasksPerOwner) {
    return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: maxLiveTasksPerOwner };
  }
  return { kind: "rate", value: createsPerMinute, retryAfterMs: (minute + 1) * MINUTE_MS - now };
}
