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
  const news = taskNews(caller, exchange, outlet, signal);
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

function taskNews(caller: Caller, exchange: Exchange, outlet: Outlet, signal: AbortSignal) {
  const { principal, session, revision, deps } = caller;
  const { tasks, clock, log } = deps;
  const phases = new Map<string, Phase>();
  const followed = new Map<string, Follow>();
  const waiting = new Set<string>();
  const pauses = new Map<string, number>();
  const soon = new Map<string, ReturnType<typeof setTimeout>>();
  signal.addEventListener("abort", () => soon.forEach((timer) => clearTimeout(timer)), { once: true });

  const read = (id: string): Promise<TaskSnapshot | null> => tasks.peek(principal, id);

  const isOwn = ({ client }: TaskSnapshot): boolean => client.session?.key === session.key;

  /** Whether it asks what this client can be asked. */
  const asksHere = ({ stage, openQuestions }: TaskSnapshot): boolean => {
    const requests = openQuestions.map(({ request }) => request);
    return stage.phase === "input_required" && canBeAsked(session.capabilities, requests);
  };

  /** Who made a task over a door without sessions sees its questions there. */
  const isWanted = (task: TaskSnapshot): boolean => {
    const { client, stage } = task;
    const reports = isOwn(task) && client.progressToken !== undefined && stage.phase !== "settled";
    return client.session !== undefined && (asksHere(task) || reports);
  };

  /** One of the owner's tasks moved. Progress alone is no change of its status. */
  async function changed(id: string, phase: Phase): Promise<void> {
    if (phases.get(id) === phase) return;
    pauses.delete(id);
    if (phase === "settled") phases.delete(id);
    else phases.set(id, phase);
    const task = await read(id);
    if (!task) return;
    if (revision.toTaskStatus) await outlet.tell("notifications/tasks/status", revision.toTaskStatus(task));
    consider(task);
  }

  /** What was asked before this stream opened. */
  async function lookForQuestions(): Promise<void> {
    let after: { createdAt: number; id: string } | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { rows, more } = await tasks.list(principal, { limit: PAGE, ...(after && { after }) });
      for (const { id, phase } of rows) if (phase === "input_required") await look(id);
      after = rows.at(-1);
      if (!more) return;
    }
  }

  async function look(id: string): Promise<void> {
    const task = await read(id);
    if (task) consider(task);
  }

  /** Whether this stream offers to carry the task's questions and progress, and when. */
  function consider(task: TaskSnapshot): void {
    const { id, createdAt, pollIntervalMs } = task;
    const follow = followed.get(id);
    if (follow) follow.asks = asksHere(task);
    if (follow || !isWanted(task)) return;
    const poll = Math.min(pollIntervalMs, KNOWN_AFTER_MS);
    if (isOwn(task)) beginAfter(id, Math.max(0, createdAt + poll - clock()), task);
    else beginAfter(id, poll * OTHERS_WAIT_POLLS);
  }

  function beginAfter(id: string, wait: number, known?: TaskSnapshot): void {
    if (signal.aborted) return;
    const before = soon.get(id);
    if (before) clearTimeout(before);
    soon.set(
      id,
      setTimeout(() => void begin(id, known), wait),
    );
  }

  function beginAgain(id: string, pause: number): void {
    const doublings = pauses.get(id) ?? 0;
    pauses.set(id, Math.min(doublings + 1, MAX_DOUBLINGS));
    beginAfter(id, pause * 2 ** doublings);
  }

  async function begin(id: string, known?: TaskSnapshot): Promise<void> {
    soon.delete(id);
    try {
      const task = known ?? (await read(id));
      if (task && isWanted(task)) follow(task);
      else takeWaiting();
    } catch {
      beginAgain(id, RETRY_MS);
    }
  }

  function follow(task: TaskSnapshot): void {
    const { id } = task;
    const asks = asksHere(task);
    if (signal.aborted || followed.has(id)) return;
    if (!hasRoom(asks)) {
      if (asks && waiting.size < MAX_WAITING) waiting.add(id);
      return;
    }
    const follow: Follow = { asks, stop: new AbortController() };
    followed.set(id, follow);
    const until = AbortSignal.any([signal, follow.stop.signal]);
    const own = isOwn(task);
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
      if (principal.kind === "anonymous") void changed(id, phase).catch(() => {});
      if (follow.asks) return;
      if (lease) clearTimeout(lease);
      lease = null;
      takeWaiting();
    };
    void carryTask(caller, exchange, id, { rank: 1, signal: until, onPhase, onAsk })
      .catch((thrown: unknown) => {
        if (until.aborted || isGone(thrown)) return;
        pause = RETRY_MS;
        log?.({ level: "warning", message: "A stream lost a task.", error: String(thrown) });
      })
      .finally(() => {
        if (lease) clearTimeout(lease);
        if (followed.get(id) === follow) followed.delete(id);
        if (pause > 0) beginAgain(id, pause);
        else pauses.delete(id);
        takeWaiting();
      });
  }

  /** A task that asks takes the place of one that only reports. */
  function hasRoom(asks: boolean): boolean {
    if (followed.size < MAX_FOLLOWED) return true;
    const idle = asks && [...followed].find(([, follow]) => !follow.asks);
    if (!idle) return false;
    followed.delete(idle[0]);
    idle[1].stop.abort();
    return true;
  }

  function takeWaiting(): void {
    const [id] = waiting;
    if (id === undefined || signal.aborted) return;
    waiting.delete(id);
    void begin(id);
  }

  return { changed, look, lookForQuestions };
}

const isGone = (thrown: unknown): boolean => thrown instanceof TaskError && thrown.code === "not_found";
