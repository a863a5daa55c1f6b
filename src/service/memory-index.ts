import type { Standing } from "../task/standing";
import type {
  OwnerFeedMessage,
  TaskListPage,
  TaskListQuery,
  TaskListRow,
  TaskSearch,
  TaskSearchPage,
} from "./task-store";
import { MinuteCount } from "./minute-count";
import type { Examined, Mirror, Reservation, Reserved, TaskIndex } from "./task-index";

const SECOND_LOOK_MS = 60_000;

type Row = TaskListRow & {
  readonly standing: Standing | null;
  readonly deadline: number;
  readonly confirmed: boolean;
  readonly version: number;
  readonly due: number | null;
  readonly expiresAt: number | null;
  readonly key: string | null;
  readonly digest: string | null;
};

/** One owner's index in memory: the same behaviour as the durable one, kept by nobody. */
export class MemoryIndex implements TaskIndex {
  readonly #rows = new Map<string, Row>();
  readonly #created = new MinuteCount();
  readonly #listeners = new Set<(message: OwnerFeedMessage) => void>();

  subscribe(listener: (message: OwnerFeedMessage) => void): () => void {
    this.#listeners.add(listener);
    listener({ kind: "ready" });
    return () => this.#listeners.delete(listener);
  }

  async reserve(wanted: Reservation, now: number): Promise<Reserved> {
    const key = wanted.idempotency && JSON.stringify([wanted.tool, wanted.idempotency.key]);
    const holder = [...this.#rows.values()].find(
      (row) => row.id === wanted.id || (key !== null && row.key === key && !isFree(row, now)),
    );
    if (holder) {
      if (holder.id !== wanted.id && holder.digest !== wanted.idempotency?.digest) return { kind: "conflict" };
      return { kind: "existing", id: holder.id, deadline: holder.deadline, confirmed: holder.confirmed };
    }
    if (this.#rows.size >= wanted.maxStored)
      return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: wanted.maxStored };
    const live = [...this.#rows.values()].filter((row) => row.phase !== "settled").length;
    if (live >= wanted.maxLive) return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: wanted.maxLive };
    const retryAfterMs = this.#created.take(now, wanted.maxPerMinute);
    if (retryAfterMs !== null) return { kind: "rate", value: wanted.maxPerMinute, retryAfterMs };
    const { id, tool, contextId, origin, createdAt, deadline } = wanted;
    const digest = wanted.idempotency?.digest ?? null;
    const start = {
      phase: "submitted",
      outcome: null,
      standing: "submitted",
      statusAt: createdAt,
      version: 0,
      confirmed: false,
      due: deadline,
      expiresAt: null,
    } as const;
    this.#rows.set(id, { id, tool, contextId, origin, createdAt, deadline, key, digest, ...start });
    return { kind: "reserved", id, deadline };
  }

  async release(id: string): Promise<void> {
    if (this.#rows.get(id)?.confirmed === false) this.#rows.delete(id);
  }

  async mirror({ id, ...facts }: Mirror): Promise<{ readonly watched: boolean }> {
    const row = this.#rows.get(id);
    if (row && facts.version > row.version) {
      this.#rows.set(id, { ...row, ...facts, confirmed: true });
      this.#tell({ kind: "change", id, version: facts.version, phase: facts.phase });
    }
    return { watched: this.#listeners.size > 0 };
  }

  async touch(id: string, version: number, phase: Row["phase"]): Promise<{ readonly watched: boolean }> {
    if (this.#rows.has(id)) this.#tell({ kind: "change", id, version, phase });
    return { watched: this.#listeners.size > 0 };
  }

  async list(
    { limit, after }: TaskListQuery,
    now: number,
  ): Promise<TaskListPage & { readonly reserved: readonly string[] }> {
    return paged(this.#readable(now), "createdAt", limit, after && { ...after, at: after.createdAt });
  }

  async search(
    { limit, after, contextId, standing, since = -Infinity }: TaskSearch,
    now: number,
  ): Promise<TaskSearchPage & { readonly reserved: readonly string[] }> {
    const found = this.#readable(now).filter(
      (row) =>
        row.statusAt >= since &&
        (contextId === undefined || row.contextId === contextId) &&
        (standing === undefined || row.standing === standing),
    );
    return { ...paged(found, "statusAt", limit, after && { ...after, at: after.statusAt }), total: found.length };
  }

  async due(now: number, limit: number): Promise<readonly { readonly id: string; readonly confirmed: boolean }[]> {
    const late = [...this.#rows.values()].filter((row) => row.due !== null && row.due <= now);
    return late.sort((a, b) => (a.due as number) - (b.due as number)).slice(0, limit);
  }

  async swept(
    examined: readonly Examined[],
    now: number,
  ): Promise<{ removed: number; dropped: number; nextDue: number | null }> {
    let removed = 0;
    let dropped = 0;
    for (const found of examined) {
      const row = this.#rows.get(found.id);
      if (!row) continue;
      if (found.found) {
        if (found.mirror.version > row.version) await this.mirror(found.mirror);
        // What was set going again gets time before it is looked at once more.
        const due = found.mirror.due !== null && found.mirror.due <= now ? now + SECOND_LOOK_MS : found.mirror.due;
        this.#rows.set(row.id, { ...(this.#rows.get(row.id) as Row), due, confirmed: true });
        continue;
      }
      this.#rows.delete(found.id);
      if (row.confirmed) removed += 1;
      else dropped += 1;
      this.#tell({ kind: "gone", id: found.id });
    }
    const dues = [...this.#rows.values()].map((row) => row.due).filter((due) => due !== null);
    return { removed, dropped, nextDue: dues.length === 0 ? null : Math.min(...dues) };
  }

  #readable(now: number): readonly Row[] {
    return [...this.#rows.values()].filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }

  #tell(message: OwnerFeedMessage): void {
    for (const listener of this.#listeners) listener(message);
  }
}

/** Newest first by one of their times, and by id; strictly after the given place. */
function paged(
  rows: readonly Row[],
  time: "createdAt" | "statusAt",
  limit: number,
  after: { readonly at: number; readonly id: string } | undefined,
): TaskListPage & { readonly reserved: readonly string[] } {
  const found = rows
    .filter((row) => !after || row[time] < after.at || (row[time] === after.at && row.id < after.id))
    .sort((a, b) => b[time] - a[time] || (a.id < b.id ? 1 : -1));
  const page = found.slice(0, limit);
  return {
    rows: page.map(toListRow),
    more: found.length > limit,
    reserved: page.filter((row) => !row.confirmed).map((row) => row.id),
  };
}

/** An idempotency key is free again once its task has expired or its reservation was lost. */
const isFree = (row: Row, now: number): boolean =>
  row.confirmed ? row.expiresAt !== null && row.expiresAt <= now : row.deadline < now;

const toListRow = ({ id, createdAt, tool, contextId, origin, phase, outcome, statusAt }: Row): TaskListRow => ({
  id,
  createdAt,
  tool,
  contextId,
  origin,
  phase,
  outcome,
  statusAt,
});
