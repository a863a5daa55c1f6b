import type { LogEntry, Task } from "../task/task";
import { LONGEST_TIMER_MS } from "./suspension";
import { LOG_LIMIT, type TaskShelf } from "./task-shelf";

/** A shelf in memory whose alarm is a timer. */
export class MemoryShelf implements TaskShelf {
  readonly #now: () => number;
  readonly #ring: () => void;
  #task: Task | null = null;
  #entries: LogEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #alarmAt: number | null = null;

  constructor(now: () => number, ring: () => void) {
    this.#now = now;
    this.#ring = ring;
  }

  load(): Task | null {
    return this.#task;
  }

  commit(_before: Task | null, after: Task, entry: LogEntry | null, alarmAt: number | null | undefined): void {
    this.#task = after;
    if (entry?.event === "progressed") this.#entries = this.#entries.filter(({ event }) => event !== "progressed");
    if (entry) this.#entries = [...this.#entries, entry].slice(-LOG_LIMIT);
    if (alarmAt !== undefined) this.setAlarm(alarmAt);
  }

  setAlarm(at: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#alarmAt = at;
    if (at !== null)
      this.#timer = setTimeout(() => this.#due(), Math.min(LONGEST_TIMER_MS, Math.max(0, at - this.#now())));
  }

  entries(after: number): readonly LogEntry[] {
    return this.#entries.filter((entry) => entry.seq > after);
  }

  async clear(): Promise<void> {
    this.setAlarm(null);
    this.#task = null;
    this.#entries = [];
  }

  #due(): void {
    const at = this.#alarmAt;
    if (at !== null && at > this.#now()) return this.setAlarm(at);
    this.#alarmAt = null;
    this.#ring();
  }
}
