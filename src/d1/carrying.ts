import type { Clock } from "../clock";
import { elect, type Rank, type Watcher } from "../service/carrier";
import type { OpenQuestion, TaskFeedMessage } from "../service/task-store";
import { taskSql } from "./task-sql";

/** Who has not looked for so long has left. */
const ABSENT_MS = 15_000;
const RENEW_MS = 5_000;

type Row = Omit<Watcher, "carries" | "holds"> & { name: string; carries: 0 | 1; holds: 0 | 1; until: number };
type Attending = Watcher & { readonly name: string };

/**
 * One watcher that offers to carry a task's questions. All of them stand in one table and elect alike; whoever is chosen
 * carries only once the one before has stepped back, or is absent: so no question is on two streams.
 */
export class Carrying {
  readonly #db: D1Database;
  readonly #task: string;
  readonly #rank: Rank;
  readonly #clock: Clock;
  readonly #name = crypto.randomUUID();
  /** What this stream has sent: should its place be lost meanwhile, it is not sent again. */
  readonly #sent = new Set<string>();
  #carries = false;
  #renewedAt = -Infinity;

  constructor(db: D1Database, task: string, rank: Rank, clock: Clock) {
    this.#db = db;
    this.#task = task;
    this.#rank = rank;
    this.#clock = clock;
  }

  /** Takes a look, and says what this stream is to be sent about questions now. */
  async turn(open: readonly OpenQuestion[]): Promise<TaskFeedMessage | null> {
    const watchers = await this.#attend();
    const me = watchers.find(({ name }) => name === this.#name);
    const chosen = elect(watchers)?.name === this.#name;
    if (!me || !me.carries) return this.#withoutPlace(chosen && me !== undefined, open);
    if (!chosen) {
      await this.#run(taskSql.relieve, this.#task, this.#name);
      return this.#relieved();
    }
    const fresh = open.filter(({ key }) => !this.#sent.has(key));
    const holds = me.holds ? open.length > 0 : fresh.length > 0;
    // Before it is sent: whoever is asked must be found to hold the question, even if this process dies now.
    if (holds !== me.holds && !(await this.#run(taskSql.hold, Number(holds), this.#task, this.#name))) return null;
    return fresh.length > 0 ? this.#deliver(fresh) : null;
  }

  async leave(): Promise<void> {
    await this.#run(taskSql.leave, this.#task, this.#name);
  }

  async #withoutPlace(chosen: boolean, open: readonly OpenQuestion[]): Promise<TaskFeedMessage | null> {
    const now = this.#clock();
    const fresh = open.filter(({ key }) => !this.#sent.has(key));
    const place = [this.#task, this.#name] as const;
    const holds = Number(open.length > 0);
    const taken = chosen && (await this.#run(taskSql.carry, holds, now + ABSENT_MS, ...place, ...place, now));
    if (!taken) return this.#relieved();
    // It had its place before, and only lost it while it could not look: nothing has changed for its client.
    const resumed = this.#carries && fresh.length === 0;
    this.#carries = true;
    return resumed ? null : this.#deliver(fresh);
  }

  #deliver(questions: readonly OpenQuestion[]): TaskFeedMessage {
    for (const { key } of questions) this.#sent.add(key);
    return { kind: "deliver", questions };
  }

  #relieved(): TaskFeedMessage | null {
    if (!this.#carries) return null;
    this.#carries = false;
    this.#sent.clear();
    return { kind: "relieved" };
  }

  /** Whoever is there, this one among them. */
  async #attend(): Promise<readonly Attending[]> {
    const now = this.#clock();
    const task = this.#task;
    const renew = now - this.#renewedAt >= RENEW_MS;
    const found = await this.#db.batch<Row>([
      ...(renew
        ? [
            this.#db.prepare(taskSql.forgetWatchers).bind(task, now),
            this.#db.prepare(taskSql.attend).bind(this.#name, this.#rank, task, now + ABSENT_MS, task),
          ]
        : []),
      this.#db.prepare(taskSql.watchers).bind(task),
    ]);
    if (renew) this.#renewedAt = now;
    return (found.at(-1)?.results ?? [])
      .filter(({ until }) => until > now)
      .map(({ carries, holds, until: _until, ...row }) => ({ ...row, carries: carries === 1, holds: holds === 1 }));
  }

  /** Whether it applied. */
  async #run(statement: string, ...values: readonly (string | number)[]): Promise<boolean> {
    const done = await this.#db
      .prepare(statement)
      .bind(...values)
      .all();
    return done.results.length > 0;
  }
}
