import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import { earliest } from "../task/due";
import { isSame } from "../task/push";
import { expiresAt, type PushTarget, type Task } from "../task/task";
import type { TaskEvent } from "../task/transition";
import type { LogLevel } from "../tool/context";
import type { Limits } from "./limits";
import { deliver, MAX_PUSH_ATTEMPTS, pushPause, type Setback } from "./push-delivery";
import type { Letter, Letters } from "./push-letter";
import type { SafeFetch } from "./safe-fetch";
import type { TaskShelf } from "./task-shelf";

/** The platform lets six connections of a task wait for an answer at once; a running tool needs some of them. */
const AT_ONCE = 4;

/** So many entries are put into words at a time: letters may be long. */
const ENTRIES_AT_ONCE = 16;

/** A task that has expired is kept no longer than this for the sake of its last news. */
const LAST_NEWS_MS = 300_000;

export type PusherParts = {
  readonly clock: Clock;
  readonly random: () => number;
  readonly limits: Pick<Limits, "retentionMs">;
  readonly shelf: Pick<TaskShelf, "entries">;
  readonly letters: Letters;
  readonly post: SafeFetch;
  /** The task as it stands. */
  readonly task: () => Task | null | undefined;
  readonly dispatch: (event: TaskEvent) => boolean;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
};

/** Being told, as its owner wanted it then. */
type Going = { readonly target: PushTarget; readonly stop: AbortController };

/**
 * Tells a task's push targets what the log holds beyond their cursors: each in order, at least once, none waiting for
 * another. All that lasts is in the record; whoever vanishes here is made up for by the alarm.
 */
export class Pusher {
  readonly #parts: PusherParts;
  readonly #going = new Map<string, Going>();
  #posting = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(parts: PusherParts) {
    this.#parts = parts;
  }

  /** Begins whatever is due and not going on yet, and ends what nobody wants any more. Waits for nothing. */
  kick(): void {
    const targets = this.#parts.task()?.push ?? [];
    for (const { target } of this.#going.values()) {
      if (!targets.some((one) => one.id === target.id && isSame(one, target))) this.#drop(target.id);
    }
    for (const target of targets) {
      if (this.#going.has(target.id) || !this.#due(target.id)) continue;
      const going = { target, stop: new AbortController() };
      this.#going.set(target.id, going);
      this.#parts.keepAlive(this.#run(going));
    }
  }

  /** Whether a task that has expired must stay a little longer, for whoever is still to be told of its end. */
  hasLastNews(): boolean {
    const { task, limits, clock, dispatch } = this.#parts;
    const at = clock();
    if (!task()?.push.length) return false;
    dispatch({ type: "expired", at });
    const ended = task() as Task;
    const since = Math.max(expiresAt(ended, limits.retentionMs) ?? at, ended.updatedAt);
    return at < since + LAST_NEWS_MS && pushAlarm(ended, at, at) !== null;
  }

  stop(): void {
    for (const id of this.#going.keys()) this.#drop(id);
  }

  #drop(id: string): void {
    this.#going.get(id)?.stop.abort();
    this.#going.delete(id);
  }

  /** The target, if there is something to tell it now. */
  #due(id: string): PushTarget | undefined {
    const task = this.#parts.task();
    const target = task?.push.find((one) => one.id === id && one.cursor < task.version);
    return target && (target.retryAt ?? 0) <= this.#parts.clock() ? target : undefined;
  }

  #isGoing(going: Going): boolean {
    return this.#going.get(going.target.id) === going;
  }

  async #run(going: Going): Promise<void> {
    try {
      for (;;) {
        const target = this.#isGoing(going) && this.#due(going.target.id);
        if (!target) return;
        await this.#round(going, target);
      }
    } catch (error) {
      // Nobody is told before what was told is stored: the alarm that stands goes on from there.
      this.#log("error", "What became of a push notification could not be stored.", going, { error: String(error) });
    } finally {
      if (this.#isGoing(going)) this.#going.delete(going.target.id);
    }
  }

  async #round(going: Going, target: PushTarget): Promise<void> {
    const { shelf, letters, post } = this.#parts;
    const task = this.#parts.task() as Task;
    const entries = shelf.entries(target.cursor).slice(0, ENTRIES_AT_ONCE);
    const last = entries.at(-1)?.seq ?? task.version;
    let news: readonly Letter[];
    try {
      news = await letters(task, entries, target);
    } catch (error) {
      const reason = "A push notification could not be written.";
      this.#log("error", reason, going, { error: String(error) });
      const unwritten = { reason, isFinal: false, waitMs: 0 };
      return this.#failed(going, entries[0]?.seq ?? last, unwritten);
    }
    // What nobody is told of needs no commit of its own, unless there is nothing else.
    if (news.length === 0) return this.#arrived(going, last);
    for (const [n, letter] of news.entries()) {
      const setback = await this.#inTurn(() => deliver(letter, target, post, going.stop.signal));
      if (!this.#isGoing(going)) return;
      if (setback) return this.#failed(going, letter.seq, setback);
      const next = news[n + 1];
      if (next?.seq !== letter.seq) this.#arrived(going, next ? next.seq - 1 : last);
    }
  }

  /** The news up to here have arrived, unless the target has been removed or replaced in the meantime. */
  #arrived(going: Going, seq: number): void {
    const { clock, dispatch } = this.#parts;
    if (this.#isGoing(going)) dispatch({ type: "pushed", at: clock(), id: going.target.id, seq });
  }

  #failed(going: Going, seq: number, { reason, isFinal, waitMs }: Setback): void {
    const { task, clock, random, dispatch } = this.#parts;
    const { id } = going.target;
    const known = task()?.push.find((one) => one.id === id);
    if (!known || !this.#isGoing(going)) return;
    const failures = known.failures + 1;
    const at = clock();
    const isDead = isFinal || failures >= MAX_PUSH_ATTEMPTS;
    const retryAt = isDead ? null : at + Math.max(waitMs, pushPause(failures, random));
    dispatch({ type: "push_failed", at, id, seq, retryAt, reason });
    const said = isDead ? "A push notification was given up." : "A push notification did not arrive.";
    this.#log(isDead ? "warning" : "info", said, going, { reason, attempt: failures });
  }

  /** One after the other where too many are on their way already. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#posting < AT_ONCE) this.#posting += 1;
    else await new Promise<void>((go) => this.#waiting.push(go));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#posting -= 1;
    }
  }

  /** An address may hold a secret in its path or query: of it only the host is told. */
  #log(level: LogLevel, message: string, { target }: Going, more: JsonObject): void {
    const host = URL.parse(target.url)?.host ?? "";
    this.#parts.log(level, message, { task: this.#parts.task()?.id ?? "", host, ...more });
  }
}

/**
 * When the alarm must look after the deliveries; null: not at all. What waits for nothing is on its way, or is by the end
 * of this turn: should this process die with it, the alarm of `soon` will do.
 */
export function pushAlarm({ push, version }: Task, now: number, soon: number): number | null {
  const owed = push.filter(({ cursor }) => cursor < version);
  return earliest(...owed.map(({ retryAt }) => (retryAt !== null && retryAt > now ? retryAt : soon)));
}
