import { earliest } from "../task/due";
import { MinuteCount } from "./minute-count";
import type { Examined, Mirror, Reservation, Reserved, TaskIndex } from "./task-index";
import type { OwnerFeedMessage, TaskListPage, TaskListQuery, TaskListRow, TaskSearch } from "./task-store";

const SECOND_LOOK_MS = 60_000;

/** `version` 0 is a reservation that no task has confirmed. */
type Row = Omit<Reservation & Mirror, "record">;

type Page = TaskListPage & { readonly reserved: readonly string[] };

/** One owner's index in memory: the same behaviour as the durable one, kept by nobody. */
export class MemoryIndex implements Omit<TaskIndex, "due"> {
  readonly #rows = new Map<string, Row>();
  readonly #created = new MinuteCount();
  readonly #listeners = new Set<(message: OwnerFeedMessage) => void>();

  subscribe(listener: (message: OwnerFeedMessage) => void): () => void {
    this.#listeners.add(listener);
    listener({ kind: "ready" });
    return () => this.#listeners.delete(listener);
  }

  async reserve(wanted: Reservation, now: number): Promise<Reserved> {
    const { id, tool, idempotency, createdAt, deadline, maxStored, maxLive, maxPerMinute } = wanted;
    const rows = [...this.#rows.values()];
    const holder = rows.find(
      (row) =>
        row.id === id ||
        (idempotency !== null && row.tool === tool && row.idempotency?.key === idempotency.key && !isExpired(row, now)),
    );
    if (holder) {
      if (holder.id !== id && holder.idempotency?.digest !== idempotency?.digest) return { kind: "conflict" };
      return { kind: "existing", id: holder.id, deadline: holder.deadline, confirmed: holder.version > 0 };
    }
    if (rows.length >= maxStored) return { kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: maxStored };
    const live = rows.filter(({ phase }) => phase !== "settled").length;
    if (live >= maxLive) return { kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: maxLive };
    const retryAfterMs = this.#created.take(now, maxPerMinute);
    if (retryAfterMs !== null) return { kind: "rate", value: maxPerMinute, retryAfterMs };
    const start = { version: 0, phase: "submitted", outcome: null, standing: "submitted", expiresAt: null } as const;
    this.#rows.set(id, { ...wanted, ...start, statusAt: createdAt, due: deadline });
    return { kind: "reserved", id, deadline };
  }

  async release(id: string): Promise<void> {
    if (this.#rows.get(id)?.version === 0) this.#rows.delete(id);
  }

  async mirror(mirror: Mirror): Promise<{ readonly watched: boolean }> {
    const { id, version, phase } = mirror;
    const row = this.#rows.get(id);
    if (row && version > row.version) {
      this.#rows.set(id, { ...row, ...mirror });
      this.#tell({ kind: "change", id, version, phase });
    }
    return { watched: this.#listeners.size > 0 };
  }

  async touch(id: string, version: number, phase: Row["phase"]): Promise<{ readonly watched: boolean }> {
    if (this.#rows.has(id)) this.#tell({ kind: "change", id, version, phase });
    return { watched: this.#listeners.size > 0 };
  }

  async list({ limit, after }: TaskListQuery, now: number): Promise<Page> {
    return paged(this.#readable(now), "createdAt", limit, after?.createdAt, after?.id);
  }

  async search(
    { limit, after, contextId, standing, since = -Infinity }: TaskSearch,
    now: number,
  ): Promise<Page & { readonly total: number }> {
    const found = this.#readable(now).filter(
      (row) =>
        row.statusAt >= since &&
        (contextId === undefined || row.contextId === contextId) &&
        (standing === undefined || row.standing === standing),
    );
    return { ...paged(found, "statusAt", limit, after?.statusAt, after?.id), total: found.length };
  }

  /** The ids of the rows that are due, earliest first. */
  due(now: number, limit: number): readonly string[] {
    const late = [...this.#rows.values()].filter(({ due }) => due !== null && due <= now);
    const first = late.sort((a, b) => (a.due as number) - (b.due as number)).slice(0, limit);
    return first.map(({ id }) => id);
  }

  async swept(
    examined: readonly Examined[],
    now: number,
  ): Promise<{ removed: number; dropped: number; nextDue: number | null }> {
    const counts = { removed: 0, dropped: 0 };
    for (const found of examined) {
      const row = this.#rows.get(found.id);
      if (!row) continue;
      if (found.found) {
        await this.mirror(found.mirror);
        const { due } = found.mirror;
        // What was set going again gets time before it is looked at once more.
        this.#rows.set(row.id, {
          ...(this.#rows.get(row.id) as Row),
          due: due !== null && due <= now ? now + SECOND_LOOK_MS : due,
        });
        continue;
      }
      this.#rows.delete(found.id);
      counts[row.version > 0 ? "removed" : "dropped"] += 1;
      this.#tell({ kind: "gone", id: found.id });
    }
    return { ...counts, nextDue: earliest(...[...this.#rows.values()].map(({ due }) => due)) };
  }

  #readable(now: number): readonly Row[] {
    return [...this.#rows.values()].filter((row) => !isExpired(row, now));
  }

  #tell(message: OwnerFeedMessage): void {
    for (const listener of this.#listeners) listener(message);
  }
}

/** Newest first by one of their times, and by id; strictly after the given place. */
function paged(rows: readonly Row[], time: "createdAt" | "statusAt", limit: number, at = Infinity, after = ""): Page {
  const found = rows
    .filter((row) => row[time] < at || (row[time] === at && row.id < after))
    .sort((a, b) => b[time] - a[time] || (a.id < b.id ? 1 : -1));
  const page = found.slice(0, limit);
  const reserved = page.filter(({ version }) => version === 0).map(({ id }) => id);
  return { rows: page.map(toListRow), more: found.length > limit, reserved };
}

const isExpired = ({ expiresAt }: Row, now: number): boolean => expiresAt !== null && expiresAt <= now;

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
