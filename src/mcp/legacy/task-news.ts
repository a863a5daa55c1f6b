import type { Exchange } from "../../json-rpc";
import type { TaskSnapshot } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { Phase } from "../../task/task";
import { canBeAsked } from "../../tool/asks";
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
/** How long that other one keeps a question to itself. */
const OTHERS_LEASE_MS = 60_000;

/** Status, questions and progress of the caller's tasks, on the session's own stream. */
export async function tellTasks(
  caller: Caller,
  exchange: Exchange,
  outlet: Outlet,
  signal: AbortSignal,
): Promise<void> {
  const { deps, principal, session, revision } = caller;
  const asksNobody = !["elicitation", "sampling", "roots"].some((name) => name in session.capabilities);
  if (asksNobody && !revision.toTaskStatus) return;
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

class TaskNews {
  readonly #caller: Caller;
  readonly #exchange: Exchange;
  readonly #outlet: Outlet;
  readonly #signal: AbortSignal;
  readonly #phases = new Map<string, Phase>();
  readonly #followed = new Set<string>();
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
    const { client, stage, createdAt, pollIntervalMs } = task;
    const own = this.#isOwn(task);
    const reports = own && client.progressToken !== undefined && stage.phase !== "settled";
    // Who made a task over a door without sessions sees its questions there.
    if (!client.session || !(this.#asks(task) || reports) || this.#soon.has(task.id) || this.#signal.aborted) return;
    const poll = Math.min(pollIntervalMs, KNOWN_AFTER_MS);
    const known = Math.max(0, createdAt + poll - this.#caller.deps.clock());
    const wait = own ? known : poll * OTHERS_WAIT_POLLS;
    this.#soon.set(
      task.id,
      setTimeout(() => void this.#begin(task.id, own), wait),
    );
  }

  async #begin(id: string, own: boolean): Promise<void> {
    this.#soon.delete(id);
    if (own) return this.#follow(id, this.#signal);
    const task = await this.#read(id).catch(() => null);
    if (task && this.#asks(task))
      this.#follow(id, AbortSignal.any([this.#signal, AbortSignal.timeout(OTHERS_LEASE_MS)]));
  }

  #isOwn({ client }: TaskSnapshot): boolean {
    return client.session?.key === this.#caller.session.key;
  }

  /** Whether it asks what this client can be asked. */
  #asks({ stage, openQuestions }: TaskSnapshot): boolean {
    const requests = openQuestions.map(({ request }) => request);
    return stage.phase === "input_required" && canBeAsked(this.#caller.session.capabilities, requests);
  }

  #follow(id: string, signal: AbortSignal): void {
    if (this.#followed.size >= MAX_FOLLOWED || this.#followed.has(id) || signal.aborted) return;
    this.#followed.add(id);
    // An owner's tasks are told of by the feed of them all.
    const onPhase = this.#caller.principal.kind === "anonymous" ? () => void this.#tellAnonymous(id) : () => {};
    carryTask(this.#caller, this.#exchange, id, { rank: 1, signal, onPhase })
      .catch((thrown: unknown) => {
        if (signal.aborted || isGone(thrown)) return;
        this.#caller.deps.log?.({ level: "warning", message: "A stream lost a task.", error: String(thrown) });
      })
      .finally(() => this.#followed.delete(id));
  }

  async #tellAnonymous(id: string): Promise<void> {
    const task = await this.#read(id).catch(() => null);
    if (task) await this.#tellStatus(task).catch(() => {});
  }
}

const isGone = (thrown: unknown): boolean => thrown instanceof TaskError && thrown.code === "not_found";
