import type { Exchange } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { Phase } from "../../task/task";
import { canBeAsked } from "../../tool/asks";
import { takePlace } from "../place";
import type { Caller } from "./call";
import { carryTask } from "./carry-task";
import type { Outlet } from "./outlet";

/** Each followed task is a connection to where it lives. */
const MAX_FOLLOWED = 100;
const PAGE = 100;
const MAX_PAGES = 10;
/** By then a client has read the answer that told it of its task: libraries refuse questions of tasks they do not know. */
const KNOWN_AFTER_MS = 1_000;
/** How long the session that made a task has to come and be asked, before another session of its owner is: some polls. */
const OTHERS_WAIT_POLLS = 5;
/** How long that other one keeps a question to itself, from when it is asked; and then leaves it to whoever else comes. */
const OTHERS_LEASE_MS = 60_000;
/** Before a task is tried again whose connection failed. */
const RETRY_MS = 2_000;
/** Each such pause is twice the one before, up to so many times. */
const MAX_DOUBLINGS = 10;
/** Tasks that ask and wait for one of the connections. */
const MAX_WAITING = 1_000;

/** Status, questions and progress of the caller's tasks, on the session's own stream. */
export async function tellTasks(
  caller: Caller,
  exchange: Exchange,
  outlet: Outlet,
  signal: AbortSignal,
): Promise<void> {
  const { deps, principal, session, revision } = caller;
  const asksNobody = !["elicitation", "sampling", "roots"].some((name) => name in session.capabilities);
  if (asksNobody && !revision.toTaskStatus) return takePlace(deps.tasks, principal, signal);
  const news = new TaskNews(caller, exchange, outlet, signal);
  if (principal.kind === "anonymous") {
    // Their tasks are in no list; the session knows which of those that it made ask something.
    for await (const message of deps.sessions.attach(session, { kind: "stream" }, signal)) {
      const asking = message.kind === "ready" ? message.asking : message.kind === "asking" ? [message.task] : [];
      for (const id of asking) await news.look(id);
    }
    return;
  }
  for await (const message of deps.tasks.changes(principal, signal)) {
    if (message.kind === "change") await news.changed(message.id, message.phase);
    else if (message.kind === "ready" && !asksNobody) await news.lookForQuestions();
  }
}

type Follow = { asks: boolean; readonly stop: AbortController };

class TaskNews {
  readonly #caller: Caller;
  readonly #exchange: Exchange;
  readonly #outlet: Outlet;
  readonly #signal: AbortSignal;
  readonly #phases = new Map<string, Phase>();
  readonly #followed = new Map<string, Follow>();
  readonly #waiting = new Set<string>();
  readonly #pauses = new Map<string, number>();
  readonly #soon = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(caller: Caller, exchange: Exchange, outlet: Outlet, signal: AbortSignal) {
    this.#caller = caller;
    this.#exchange = exchange;
    this.#outlet = outlet;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#soon.forEach((timer) => clearTimeout(timer)), { once: true });
  }

  /** One of the owner's tasks moved. Progress alone is no change of its status. */
  async changed(id: string, phase: Phase): Promise<void> {
    if (this.#phases.get(id) === phase) return;
    this.#pauses.delete(id);
    if (phase === "settled") this.#phases.delete(id);
    else this.#phases.set(id, phase);
    const task = await this.#read(id);
    if (!task) return;
    await this.#tellStatus(task);
    this.#consider(task);
  }

  /** What was asked before this stream opened. */
  async lookForQuestions(): Promise<void> {
    const { deps, principal } = this.#caller;
    let after: { createdAt: number; id: string } | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { rows, more } = await deps.tasks.list(principal, { limit: PAGE, ...(after && { after }) });
      for (const { id, phase } of rows) if (phase === "input_required") await this.look(id);
      after = rows.at(-1);
      if (!more) return;
    }
  }

  async look(id: string): Promise<void> {
    const task = await this.#read(id);
    if (task) this.#consider(task);
  }

  #read(id: string): Promise<TaskSnapshot | null> {
    return this.#caller.deps.tasks.peek(this.#caller.principal, id);
  }

  async #tellStatus(task: TaskSnapshot): Promise<void> {
    const { toTaskStatus } = this.#caller.revision;
    if (toTaskStatus) await this.#outlet.tell("notifications/tasks/status", toTaskStatus(task));
  }

  /** Whether this stream offers to carry the task's questions and progress, and when. */
  #consider(task: TaskSnapshot): void {
    const { id, createdAt, pollIntervalMs } = task;
    const follow = this.#followed.get(id);
    if (follow) follow.asks = this.#asks(task);
    if (follow || !this.#isWanted(task)) return;
    const own = this.#isOwn(task);
    const poll = Math.min(pollIntervalMs, KNOWN_AFTER_MS);
    const known = Math.max(0, createdAt + poll - this.#caller.deps.clock());
    this.#beginAfter(id, own ? known : poll * OTHERS_WAIT_POLLS, own ? task : undefined);
  }

  #beginAfter(id: string, wait: number, known?: TaskSnapshot): void {
    if (this.#signal.aborted) return;
    const waiting = this.#soon.get(id);
    if (waiting !== undefined) clearTimeout(waiting);
    this.#soon.set(
      id,
      setTimeout(() => void this.#begin(id, known), wait),
    );
  }

  #beginAgain(id: string, pause: number): void {
    const doublings = this.#pauses.get(id) ?? 0;
    this.#pauses.set(id, Math.min(doublings + 1, MAX_DOUBLINGS));
    this.#beginAfter(id, pause * 2 ** doublings);
  }

  async #begin(id: string, known?: TaskSnapshot): Promise<void> {
    this.#soon.delete(id);
    try {
      const task = known ?? (await this.#read(id));
      if (task && this.#isWanted(task)) this.#follow(task);
      else this.#takeWaiting();
    } catch {
      this.#beginAgain(id, RETRY_MS);
    }
  }

  /** Who made a task over a door without sessions sees its questions there. */
  #isWanted(task: TaskSnapshot): boolean {
    const { client, stage } = task;
    const reports = this.#isOwn(task) && client.progressToken !== undefined && stage.phase !== "settled";
    return client.session !== undefined && (this.#asks(task) || reports);
  }

  #isOwn({ client }: TaskSnapshot): boolean {
    return client.session?.key === this.#caller.session.key;
  }

  /** Whether it asks what this client can be asked. */
  #asks({ stage, openQuestions }: TaskSnapshot): boolean {
    const requests = openQuestions.map(({ request }) => request);
    return stage.phase === "input_required" && canBeAsked(this.#caller.session.capabilities, requests);
  }

  #follow(task: TaskSnapshot): void {
    const { id } = task;
    const asks = this.#asks(task);
    if (this.#signal.aborted || this.#followed.has(id)) return;
    if (!this.#hasRoom(asks)) {
      if (asks && this.#waiting.size < MAX_WAITING) this.#waiting.add(id);
      return;
    }
    const follow: Follow = { asks, stop: new AbortController() };
    this.#followed.set(id, follow);
    const signal = AbortSignal.any([this.#signal, follow.stop.signal]);
    const own = this.#isOwn(task);
    let pause = 0;
    let lease: ReturnType<typeof setTimeout> | null = null;
    const endLease = (): void => {
      pause = OTHERS_LEASE_MS;
      follow.stop.abort();
    };
    const onAsk = (): void => {
      if (!own) lease ??= setTimeout(endLease, OTHERS_LEASE_MS);
    };
    const onPhase = (phase: Phase): void => {
      follow.asks = phase === "input_required";
      // An owner's tasks are told of by the feed of them all.
      if (this.#caller.principal.kind === "anonymous") void this.#tellAnonymous(id);
      if (follow.asks) return;
      if (lease !== null) clearTimeout(lease);
      lease = null;
      this.#takeWaiting();
    };
    void carryTask(this.#caller, this.#exchange, id, { rank: 1, signal, onPhase, onAsk })
      .catch((thrown: unknown) => {
        if (signal.aborted || isGone(thrown)) return;
        pause = RETRY_MS;
        this.#caller.deps.log?.({ level: "warning", message: "A stream lost a task.", error: String(thrown) });
      })
      .finally(() => {
        if (lease !== null) clearTimeout(lease);
        if (this.#followed.get(id) === follow) this.#followed.delete(id);
        if (pause > 0) this.#beginAgain(id, pause);
        else this.#pauses.delete(id);
        this.#takeWaiting();
      });
  }

  /** A task that asks takes the place of one that only reports. */
  #hasRoom(asks: boolean): boolean {
    if (this.#followed.size < MAX_FOLLOWED) return true;
    const idle = asks && [...this.#followed].find(([, follow]) => !follow.asks);
    if (!idle) return false;
    this.#followed.delete(idle[0]);
    idle[1].stop.abort();
    return true;
  }

  #takeWaiting(): void {
    const [id] = this.#waiting;
    if (id === undefined || this.#signal.aborted) return;
    this.#waiting.delete(id);
    void this.#begin(id);
  }

  async #tellAnonymous(id: string): Promise<void> {
    const task = await this.#read(id).catch(() => null);
    if (task) await this.#tellStatus(task).catch(() => {});
  }
}

const isGone = (thrown: unknown): boolean => thrown instanceof TaskError && thrown.code === "not_found";
