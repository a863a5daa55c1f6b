import { DurableObject } from "cloudflare:workers";
import { earliest } from "../src/task/due";
import { MinuteCount } from "../src/service/minute-count";
import type { DueRow, Examined, Mirror, Reservation, Reserved, TaskIndex } from "../src/service/task-index";
import type {
  OwnerFeedMessage,
  TaskListPage,
  TaskListQuery,
  TaskSearch,
  TaskSearchPage,
} from "../src/service/task-store";
import type { Phase } from "../src/task/task";
import { broadcast, feedWish, openFeed, send } from "./feed-socket";
import { IndexRows } from "./index-rows";
import { directoryShard } from "./names";
import { RecordRows } from "./record-rows";
import type { RecordIndexCalls, RecordReserved, RecordRow, RecordRowQuery, SettledRow } from "./record-rpc";
import { directoryStub, type StorageBindings } from "./rpc";
import { found, listed } from "./task-pages";

/** The directory is told whole minutes, rounded down, so that a burst of tasks writes there once. */
const DIRECTORY_STEP_MS = 60_000;

/** A reservation's deadline is judged by the task's object; here it waits a little longer, as clocks differ. */
const CLOCK_SKEW_MS = 1_000;

/** A due time the directory is being told. */
type Promised = { readonly due: number; readonly told: Promise<void> };

/**
 * One owner's index in one namespace, or one of the anonymous shards: its rows, its line in the directory, its feed.
 * Under a name of its own it is the index of a space of records.
 */
export class OwnerIndex extends DurableObject<StorageBindings> implements TaskIndex, RecordIndexCalls {
  readonly #rows = new IndexRows(this.ctx.storage);
  readonly #records = new RecordRows(this.#rows);
  readonly #admitted = new MinuteCount();
  /** What the directory is being told of rows that are not written yet: a sweep must not make it forget these. */
  readonly #promised = new Set<Promised>();

  async reserve(wanted: Reservation, now: number): Promise<Reserved> {
    const known = this.#rows.answer(wanted, now);
    if (known) return known;
    const due = wanted.deadline + CLOCK_SKEW_MS;
    return this.#afterTelling(due, () => this.#rows.answer(wanted, now) ?? this.#rows.insert(wanted, due, now));
  }

  async reserveRecord(wanted: Reservation, now: number): Promise<RecordReserved> {
    const known = this.#records.answer(wanted, now);
    if (known) return known;
    const due = wanted.deadline + CLOCK_SKEW_MS;
    const mark = wanted.record?.mark ?? "";
    return this.#afterTelling(due, () => {
      const answer = this.#records.answer(wanted, now);
      return answer ?? { ...this.#rows.insert(wanted, due, now), mark };
    });
  }

  async hasRecord(id: string): Promise<boolean> {
    return this.#records.has(id);
  }

  async listRecords(query: RecordRowQuery, now: number): Promise<readonly RecordRow[]> {
    return this.#records.list(query, now);
  }

  async settledBefore(before: number, limit: number, after?: SettledRow): Promise<readonly SettledRow[]> {
    return this.#records.settledBefore(before, limit, after);
  }

  async release(id: string, mark: string | null = null): Promise<void> {
    this.#rows.transaction(() => this.#rows.release(id, mark));
  }

  async mirror(mirror: Mirror): Promise<{ readonly watched: boolean }> {
    if (this.#rows.isBehind(mirror)) {
      const { id, version, phase } = mirror;
      const isNews = await this.#afterTelling(mirror.due, () => this.#rows.apply(mirror));
      if (isNews) this.#announce({ kind: "change", id, version, phase });
    }
    return { watched: this.#isWatched() };
  }

  async touch(id: string, version: number, phase: Phase): Promise<{ readonly watched: boolean }> {
    this.#announce({ kind: "change", id, version, phase });
    return { watched: this.#isWatched() };
  }

  async list(query: TaskListQuery, now: number): Promise<TaskListPage & { readonly reserved: readonly string[] }> {
    return listed(this.#rows, query, now);
  }

  async search(query: TaskSearch, now: number): Promise<TaskSearchPage & { readonly reserved: readonly string[] }> {
    return found(this.#rows, query, now);
  }

  async due(now: number, limit: number): Promise<readonly DueRow[]> {
    return this.#rows.due(now, limit);
  }

  async swept(
    examined: readonly Examined[],
    now: number,
    unanswered: readonly string[] = [],
  ): Promise<{ readonly removed: number; readonly dropped: number; readonly nextDue: number | null }> {
    const result = this.#rows.transaction(() => {
      const counts = { removed: 0, dropped: 0 };
      for (const found of examined) {
        const change = this.#rows.takeIn(found, now);
        if (change === "removed" || change === "dropped") counts[change] += 1;
        if (change === "removed") this.#announce({ kind: "gone", id: found.id });
        if (change === "changed" && found.found) {
          const { id, version, phase } = found.mirror;
          this.#announce({ kind: "change", id, version, phase });
        }
      }
      for (const id of unanswered) this.#rows.postpone(id, now);
      const nextDue = this.#nextVisit();
      // Whether the directory hears of an earlier time is for whoever sweeps to say.
      const told = this.#rows.told();
      if (nextDue === null || (told !== null && told < nextDue)) this.#rows.tell(nextDue);
      return { ...counts, nextDue };
    });
    if (this.#rows.isEmpty() && this.#promised.size === 0) await this.#rows.wipe();
    return result;
  }

  /** For an object that stands for an anonymous caller's address: counted in memory, nothing is stored. */
  async admit(most: number, now: number): Promise<number | null> {
    return this.#admitted.take(now, most);
  }

  /** The owner's feed: a WebSocket that hibernates, so that nobody is billed for listening. */
  override async fetch(request: Request): Promise<Response> {
    return openFeed(this.ctx, feedWish(request), (socket) =>
      send(socket, { kind: "ready" } satisfies OwnerFeedMessage),
    );
  }

  /**
   * The directory first, then the row: a row it does not know of would never be swept. A time noted there without a
   * row only costs a visit. While it is told other calls come in, so `write` decides afresh, synchronously.
   */
  async #afterTelling<T>(due: number | null, write: () => T): Promise<T> {
    const promised = due === null ? null : this.#promise(floorToStep(due));
    try {
      await promised?.told;
      return this.#rows.transaction(() => {
        const written = write();
        if (promised && isEarlier(promised.due, this.#rows.told())) this.#rows.tell(promised.due);
        return written;
      });
    } finally {
      if (promised) this.#promised.delete(promised);
    }
  }

  /** Null when the directory expects us by then anyway. Calls that wait for the same news share one message. */
  #promise(due: number): Promised | null {
    if (!isEarlier(due, this.#rows.told())) return null;
    const shared = [...this.#promised].find((promised) => promised.due <= due);
    const promised = shared ? { ...shared } : { due, told: this.#note(due) };
    this.#promised.add(promised);
    return promised;
  }

  async #note(due: number): Promise<void> {
    const name = this.ctx.id.name;
    if (name === undefined) throw new Error("An owner's index is reached by its name only.");
    await directoryStub(this.env, directoryShard(name)).note(name, due);
  }

  /** When the directory should send the sweep here next. */
  #nextVisit(): number | null {
    const due = this.#rows.nextDue();
    return earliest(due === null ? null : floorToStep(due), ...[...this.#promised].map((promised) => promised.due));
  }

  #isWatched(): boolean {
    return this.ctx.getWebSockets().length > 0;
  }

  #announce(message: OwnerFeedMessage): void {
    broadcast(this.ctx, message);
  }
}

const floorToStep = (at: number): number => at - (at % DIRECTORY_STEP_MS);

const isEarlier = (due: number, told: number | null): boolean => told === null || due < told;
