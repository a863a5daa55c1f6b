import type { Clock } from "../clock";
import { factsOf } from "../service/audit";
import { eventFor } from "../service/command-event";
import type { Limits } from "../service/limits";
import { mayTouch } from "../service/may-touch";
import { PollBucket } from "../service/poll-bucket";
import { toldOf, toSnapshot } from "../service/snapshot";
import type {
  Command,
  Created,
  IdempotencyKey,
  OwnerFeedMessage,
  PassiveTaskStore,
  Polled,
  ReadOptions,
  SweepReport,
  TaskFeedMessage,
  TaskListPage,
  TaskListQuery,
  TaskRef,
  TaskSearch,
  TaskSearchPage,
  TaskSnapshot,
  Told,
  WatchOptions,
} from "../service/task-store";
import { planWork, type WorkAct, type Worked } from "../service/work";
import { ARGUMENTS_KEY, isExpired, type Owner, type Task, type TaskDraft } from "../task/task";
import { decodeTaskId, randomTaskId } from "../task-id";
import type { LogLevel } from "../tool/context";
import { Admission } from "./admission";
import { collect } from "./collect";
import { D1Tasks } from "./d1-tasks";
import { migrated } from "./migrate";
import { ownerFeed } from "./owner-feed";
import { Streams } from "./streams";
import { D1TaskFeed } from "./task-feed";
import { found, listed } from "./task-pages";
import type { Level } from "./task-rows";
import { taskSql } from "./task-sql";

/** So many tasks' polls are counted at a time. */
const COUNTED = 10_000;

export type D1StoreParts = {
  readonly db: D1Database;
  readonly limits: Limits;
  /** Unix ms. */
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly log?: (level: LogLevel, message: string, data: object) => void;
};

/**
 * Tasks in a D1 database. It only keeps them: the deployment runs their tools in runner objects, and its cron asks `due`
 * what was missed. The tables are made at the first call.
 */
export const d1Store = (parts: D1StoreParts): PassiveTaskStore => new D1TaskStore(parts);

class D1TaskStore implements PassiveTaskStore {
  readonly #db: () => Promise<D1Database>;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: NonNullable<D1StoreParts["log"]>;
  readonly #tasks: D1Tasks;
  readonly #admission: Admission;
  readonly #streams: Streams;
  /** By task, in this isolate: a client that is spread over several has as many more polls. */
  readonly #polls = new Map<string, PollBucket>();

  constructor({ db, limits, clock = Date.now, random = Math.random, log = () => {} }: D1StoreParts) {
    this.#db = migrated(db);
    this.#limits = limits;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    const changed = (before: Task, after: Task): void => {
      if (before.stage.phase !== "settled" && after.stage.phase === "settled") this.#tellEnd(after, "settle");
    };
    this.#tasks = new D1Tasks({ db: this.#db, limits, changed });
    this.#admission = new Admission({ db: this.#db, tasks: this.#tasks, limits, clock });
    this.#streams = new Streams(limits.maxStreamsPerOwner);
  }

  mint(): string {
    return randomTaskId((bytes) => crypto.getRandomValues(bytes));
  }

  recognises(id: string): boolean {
    return decodeTaskId(id) !== null;
  }

  create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created> {
    return this.#admission.create(draft, idempotency);
  }

  admit(address: string): Promise<number | null> {
    return this.#admission.admit(address);
  }

  async occupy(address: string, signal: AbortSignal): Promise<void> {
    this.#streams.occupy(JSON.stringify(["address", address]), signal);
  }

  async read(ref: TaskRef, options: ReadOptions = {}): Promise<TaskSnapshot | null> {
    if (!this.recognises(ref.id)) return null;
    const stored = await this.#tasks.load(ref.id, levelOf(options));
    if (!stored || !this.#isVisible(stored.task, ref.owner)) return null;
    return toldOf(stored.task, options);
  }

  async poll(ref: TaskRef, options?: ReadOptions): Promise<Polled | null> {
    const task = await this.read(ref, options);
    if (!task) return null;
    const retryAfterMs = this.#bucketOf(ref.id).take(task.pollIntervalMs);
    return retryAfterMs === null ? { kind: "task", task } : { kind: "limited", retryAfterMs };
  }

  async tell({ id, owner }: TaskRef, command: Command): Promise<Told | null> {
    if (!this.recognises(id)) return null;
    return this.#tasks.change(id, levelOf({ conversation: isLong(command) }), (task) => {
      if (!this.#isVisible(task, owner)) return null;
      const answer = (now: Task): Told => ({ task: toSnapshot(now), changed: now !== task });
      // Nobody carries news from here, so nobody is noted who would wait for them.
      if (command.kind === "push" || command.kind === "unpush") return { events: [], answer };
      return { events: [eventFor(task, command, this.#limits, this.#clock())], answer };
    });
  }

  async work(id: string, act: WorkAct): Promise<Worked | null> {
    if (!this.recognises(id)) return null;
    return this.#tasks.change(id, "full", (task) => {
      const now = this.#clock();
      if (isExpired(task, now, this.#limits.retentionMs)) return null;
      return planWork(task, act, { limits: this.#limits, now, random: this.#random });
    });
  }

  async watch({ id, owner }: TaskRef, options: WatchOptions): Promise<AsyncIterable<TaskFeedMessage> | null> {
    if (!this.recognises(id)) return null;
    const found = await this.#tasks.loadWithLog(id, options.after ?? Number.MAX_SAFE_INTEGER);
    if (!found || !this.#isVisible(found.task, owner)) return null;
    this.#streams.occupy(JSON.stringify(["task", id]), options.signal);
    const parts = { db: this.#db, tasks: this.#tasks, clock: this.#clock, retentionMs: this.#limits.retentionMs };
    return new D1TaskFeed(parts, found.task, options).messages(found.task, found.entries);
  }

  async *listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    this.#streams.occupy(JSON.stringify(["owner", namespace, owner]), signal);
    yield* ownerFeed(this.#db, namespace, owner, signal);
  }

  async list(query: TaskListQuery): Promise<TaskListPage> {
    return listed(await this.#db(), query, this.#clock());
  }

  async search(query: TaskSearch): Promise<TaskSearchPage> {
    return found(await this.#db(), query, this.#clock());
  }

  async due(now: number, limit: number): Promise<readonly string[]> {
    const db = await this.#db();
    const { results } = await db.prepare(taskSql.due).bind(now, now, limit).all<{ id: string }>();
    return results.map(({ id }) => id);
  }

  async sweep(budget: number): Promise<SweepReport> {
    const { report, expired } = await collect(await this.#db(), this.#clock(), budget);
    for (const task of expired) this.#tellEnd(task, "expire");
    return report;
  }

  #isVisible(task: Task, owner: Owner): boolean {
    const { scoping, retentionMs } = this.#limits;
    return mayTouch(task.owner, owner, scoping) && !isExpired(task, this.#clock(), retentionMs);
  }

  #bucketOf(id: string): PollBucket {
    const known = this.#polls.get(id);
    if (known) return known;
    const [oldest] = this.#polls.keys();
    if (oldest !== undefined && this.#polls.size >= COUNTED) this.#polls.delete(oldest);
    const fresh = new PollBucket(this.#clock, this.#limits.pollBurst);
    this.#polls.set(id, fresh);
    return fresh;
  }

  /** One line for each task that comes to its end, for the operator. */
  #tellEnd(task: Task, audit: "settle" | "expire"): void {
    const outcome = task.stage.phase === "settled" ? task.stage.outcome.kind : "expired";
    this.#log("info", "A task has settled.", { audit, ...factsOf(task), outcome });
  }
}

/** What a reader is told of a task must be loaded. */
const levelOf = ({ body = true, conversation = false }: ReadOptions): Level =>
  conversation ? (body ? "saidView" : "saidFacts") : body ? "view" : "facts";

/** A message lengthens the conversation, and arguments that were asked for are laid over those that were given. */
function isLong(command: Command): boolean {
  if (command.kind === "say") return true;
  if (command.kind !== "answer") return false;
  return command.turn !== undefined || Object.keys(command.answers).some((key) => key.startsWith(ARGUMENTS_KEY));
}
