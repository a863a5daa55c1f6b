import { isExpired, type Owner, type Task, type TaskDraft } from "../task/task";
import { earliest, nextDue } from "../task/due";
import { createTask, transition, type TaskEvent } from "../task/transition";
import { announce } from "./announce";
import { eventFor } from "./command-event";
import { HandOver } from "./hand-over";
import type { HostParts } from "./host-parts";
import { mayTouch } from "./may-touch";
import { mirrorOf } from "./mirror";
import { Outbox } from "./outbox";
import { PollBucket } from "./poll-bucket";
import { pushAlarm, Pusher } from "./pusher";
import { Runner } from "./runner";
import { restarted } from "./setback";
import { toldOf, toSnapshot, withoutBody } from "./snapshot";
import type { Examined, Mirror } from "./task-index";
import type { Command, OpenQuestion, Polled, ReadOptions, TaskFeedMessage, TaskSnapshot, Told } from "./task-store";
import { lean, overdue, planWork, type WorkAct, type Worked } from "./work";

/** While a run is in memory the alarm looks after it this often; one that died with its process is found by then. */
export const LEASE_MS = 30_000;

/**
 * One task where it lives: it saves, announces and runs, and decides nothing; what may happen is `transition`'s.
 * Memory is a cache: the host may vanish between any two lines and go on from its shelf.
 */
export class TaskHost {
  readonly #parts: HostParts;
  readonly #outbox: Outbox;
  readonly #runner: Runner;
  readonly #handOver: HandOver;
  readonly #pusher: Pusher;
  readonly #polls: PollBucket;
  /** undefined: not looked yet. */
  #task: Task | null | undefined;
  #watchAt = 0;
  /** The alarm as far as this incarnation knows it. */
  #alarm: number | null | undefined;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.#polls = new PollBucket(parts.clock, parts.limits.pollBurst);
    this.#outbox = new Outbox({
      clock: parts.clock,
      random: parts.random,
      send: () => this.#sendMirror(),
      retry: () => this.#arm(),
    });
    this.#handOver = new HandOver({ ...parts, tell: (act, handed) => this.#handedOver(act, handed) });
    const dispatch = (event: TaskEvent) => this.#dispatch(event);
    this.#pusher = new Pusher({ ...parts, task: () => this.#task, dispatch });
    this.#runner = new Runner({ ...parts, task: () => this.#task as Task, dispatch, ended: () => this.#flush() });
  }

  /** First come, first stored: a repeated create gets what is there. Late past the reservation's deadline. */
  create(
    draft: TaskDraft,
    deadline: number,
  ): { readonly kind: "created" | "existing"; readonly task: TaskSnapshot } | { readonly kind: "late" } {
    const existing = this.#load();
    if (existing) return { kind: "existing", task: toSnapshot(existing) };
    if (this.#parts.clock() >= deadline) return { kind: "late" };
    const { task, entry } = createTask(draft);
    // What begins with a question has nothing to do soon but to tell its index.
    if (draft.missing) this.#outbox.owe();
    const due = draft.missing ? this.#parts.clock() : nextDue(task, this.#parts.clock());
    this.#parts.shelf.commit(null, task, entry, due);
    this.#alarm = due;
    this.#task = task;
    return { kind: "created", task: toSnapshot(task) };
  }

  read(owner: Owner, options?: ReadOptions): TaskSnapshot | null {
    const task = this.#visible(owner);
    return task && toldOf(task, options);
  }

  /** A read that a caller asked for, which may be too many. */
  poll(owner: Owner, options?: ReadOptions): Polled | null {
    const task = this.#visible(owner);
    if (!task) return null;
    const retryAfterMs = this.#polls.take(task.pollIntervalMs);
    return retryAfterMs === null ? { kind: "task", task: toldOf(task, options) } : { kind: "limited", retryAfterMs };
  }

  async tell(owner: Owner, command: Command): Promise<Told | null> {
    const task = this.#visible(owner);
    if (!task) return null;
    const { limits, clock } = this.#parts;
    const changed = this.#dispatch(eventFor(task, command, limits, clock()));
    if (changed) await this.#flush();
    return { task: toSnapshot(this.#task ?? task), changed };
  }

  /** What a run elsewhere reports under its lease; null when there is no such task. */
  async work(act: WorkAct): Promise<Worked | null> {
    const task = this.#load();
    if (!task || isExpired(task, this.#parts.clock(), this.#parts.limits.retentionMs)) return null;
    const { changed, worked } = this.#apply(task, act);
    if (changed) await this.#flush();
    return worked;
  }

  /** Whether that changed it, and the answer: as it stands then, before anything else can happen to it. */
  #apply(task: Task, act: WorkAct): { readonly changed: boolean; readonly worked: Worked } {
    const { events, answer } = planWork(task, act, this.#judging());
    const changed = events.map((event) => this.#dispatch(event)).includes(true);
    return { changed, worked: lean(act, answer(this.#task ?? task)) };
  }

  /** A run may begin and end before it is heard that the task was offered: where it stands then, it still has to be. */
  #handedOver(act: WorkAct, handed: Task): void {
    if (this.#task && (act.kind !== "offered" || this.#task.stage === handed.stage)) this.#apply(this.#task, act);
  }

  /** What a new watcher gets before the live messages; null when there is nothing it may see. */
  attach(
    owner: Owner,
    after: number | undefined,
  ): { readonly messages: readonly TaskFeedMessage[]; readonly ended: boolean } | null {
    const task = this.#visible(owner);
    if (!task) return null;
    const missed =
      after === undefined
        ? []
        : this.#parts.shelf.entries(after).map((entry): TaskFeedMessage => ({ kind: "event", entry }));
    return {
      messages: [{ kind: "snapshot", task: withoutBody(toSnapshot(task)) }, ...missed],
      ended: task.stage.phase === "settled",
    };
  }

  /** The alarm: does what is due and returns; runs and deliveries go on behind it. */
  async alarm(): Promise<void> {
    this.#alarm = null;
    const isFresh = this.#task === undefined;
    const task = this.#load();
    if (!task) return;
    // Whether the one before us told the index is not known; telling it twice is harmless.
    if (isFresh) this.#outbox.owe();
    try {
      this.#proceed(task);
      this.#pusher.kick();
      await this.#handOver.flush(this.#task ?? task);
      await this.#outbox.flush();
    } finally {
      this.#arm();
    }
  }

  /** The sweep looks in: collects an expired task, and sets a late one going again. */
  async examine(): Promise<Examined> {
    const task = this.#load();
    if (!task) return { id: "", found: false };
    const now = this.#parts.clock();
    if (isExpired(task, now, this.#parts.limits.retentionMs) && !this.#pusher.hasLastNews()) {
      await this.#collect(task, now);
      return { id: task.id, found: false };
    }
    const kept = this.#task ?? task;
    const due = nextDue(kept, now);
    const poked = (due !== null && due <= now) || this.#leaseIsDead(kept);
    if (poked) this.#setAlarm(now);
    this.#outbox.sent();
    return { id: task.id, found: true, mirror: this.#mirrorOf(kept), poked };
  }

  #load(): Task | null {
    if (this.#task === undefined) {
      this.#task = this.#parts.shelf.load();
      // Whoever ran it is gone with its process: the run starts over at once, not at the next watchdog.
      if (this.#task && this.#leaseIsDead(this.#task)) this.#setAlarm(this.#parts.clock());
    }
    return this.#task;
  }

  #visible(owner: Owner): Task | null {
    const task = this.#load();
    const { clock, limits } = this.#parts;
    if (!task || !mayTouch(task.owner, owner, limits.scoping)) return null;
    return isExpired(task, clock(), limits.retentionMs) ? null : task;
  }

  #leaseIsDead(task: Task): boolean {
    return this.#runner.until() === null && isRunningHere(task);
  }

  #judging() {
    return { limits: this.#parts.limits, now: this.#parts.clock(), random: this.#parts.random };
  }

  #proceed(task: Task): void {
    const { clock, limits } = this.#parts;
    const now = clock();
    if (task.stage.phase === "settled") return this.#outbox.owe();
    if (isExpired(task, now, limits.retentionMs)) return void this.#dispatch({ type: "expired", at: now });
    if (this.#leaseIsDead(task)) this.#dispatch(restarted(task, limits, now));
    for (const event of overdue(task, this.#judging())) this.#dispatch(event);
    if (task.runs.in === "object") this.#dispatch({ type: "started", at: now });
    if (this.#runner.until() !== null) this.#watchAt = now + LEASE_MS;
  }

  /** Durable first, then the watchers, then what follows from it. */
  #dispatch(event: TaskEvent): boolean {
    const before = this.#task;
    if (!before) return false;
    const { task, entry } = transition(before, event);
    if (task === before) return false;
    const touched = entry === null || event.type === "progressed" || event.type === "stepped";
    if (!touched) this.#outbox.owe();
    const starts = event.type === "started";
    if (starts) this.#watchAt = this.#parts.clock() + LEASE_MS;
    const alarm = this.#nextAlarm(task, starts || this.#runner.until() !== null);
    this.#parts.shelf.commit(before, task, entry, alarm === this.#alarm ? undefined : alarm);
    // Only now: a commit that fails must not leave memory ahead of what is stored.
    this.#task = task;
    this.#alarm = alarm;
    if (entry) announce(this.#parts, before, task, entry);
    this.#handOver.settled(before, task);
    if (event.type === "progressed") this.#outbox.touch(() => this.#parts.touch(task), this.#parts.keepAlive);
    if (task.stage.phase === "settled") this.#runner.stop();
    if (starts && isRunningHere(task)) this.#runner.start();
    if (before.push.length + task.push.length > 0) this.#pusher.kick();
    return true;
  }

  /** What is open, for a watcher that came or left. */
  openQuestions(): readonly OpenQuestion[] {
    const task = this.#load();
    return task ? toSnapshot(task).openQuestions : [];
  }

  async #collect(task: Task, now: number): Promise<void> {
    this.#dispatch({ type: "expired", at: now });
    this.#runner.stop();
    this.#pusher.stop();
    if (task.stage.phase === "settled") this.#parts.announce({ kind: "gone" }, true);
    this.#outbox.forget();
    await this.#parts.shelf.clear();
    this.#task = null;
    this.#alarm = null;
  }

  /** One alarm, multiplexed: the record's next due time, the run's watchdog, what the index and the targets are owed. */
  #nextAlarm(task: Task, held = this.#runner.until() !== null): number | null {
    const now = this.#parts.clock();
    const watch = held ? this.#watchAt : now;
    // Should this process die before it tells the index, the next one will: an alarm set for soon already will do.
    const soon =
      this.#alarm != null && this.#alarm > now && this.#alarm <= now + LEASE_MS ? this.#alarm : now + LEASE_MS;
    const owed = this.#outbox.owes() ? (this.#outbox.retryAt() ?? soon) : null;
    const due = nextDue({ ...task, push: [] }, now);
    const own = due === null ? null : Math.max(due, this.#handOver.notBefore(task));
    return earliest(own, isRunningHere(task) ? watch : null, owed, pushAlarm(task, now, soon));
  }

  #arm(): void {
    const task = this.#task;
    if (!task) return;
    const next = this.#nextAlarm(task);
    if (next !== this.#alarm) this.#setAlarm(next);
  }

  #setAlarm(at: number | null): void {
    this.#parts.shelf.setAlarm(at);
    this.#alarm = at;
  }

  async #flush(): Promise<void> {
    await this.#outbox.flush();
    this.#arm();
  }

  async #sendMirror(): Promise<{ readonly watched: boolean }> {
    const task = this.#task;
    return task ? this.#parts.mirror(task, this.#mirrorOf(task)) : { watched: false };
  }

  #mirrorOf(task: Task): Mirror {
    const now = this.#parts.clock();
    const runUntil = this.#runner.until() ?? (this.#leaseIsDead(task) ? Math.min(task.updatedAt, now) : null);
    return mirrorOf(task, now, this.#parts.limits.retentionMs, runUntil);
  }
}

const isRunningHere = ({ runs, stage }: Task): boolean =>
  runs.in === "object" && stage.phase === "working" && stage.activity.kind === "running";
