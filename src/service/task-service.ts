import { notFound, overLimit, tooFast } from "../task/errors";
import { canonicalJson, type Json, type JsonText } from "../task/json";
import { MAX_PUSH_TARGETS } from "../task/push";
import type { Phase, PushWish, TaskDraft } from "../task/task";
import { digestOf } from "./digest";
import { draftTask } from "./draft-task";
import { follow, type FollowMessage } from "./follow";
import { notCreated, tooManyCreated } from "./not-created";
import { ownerOf, type Principal } from "./principal";
import { SESSION_KEYS } from "./sessions";
import type { SettleOptions, StartRequest, TaskServiceParts } from "./task-requests";
import type {
  Command,
  Created,
  OwnerFeedMessage,
  ReadOptions,
  Said,
  TaskListPage,
  TaskListQuery,
  TaskRef,
  TaskSearch,
  TaskSearchPage,
  TaskSnapshot,
  Told,
} from "./task-store";

/** The tasks of MCP and A2A share one namespace per owner, so that a task is the same over every door. */
export const NAMESPACE = "tasks";

/** A Worker waits for so many objects at a time. */
const PEEKS_AT_ONCE = 6;

/** The use cases. Every door acts only through these. */
export class TaskService {
  readonly #parts: TaskServiceParts;

  constructor(parts: TaskServiceParts) {
    this.#parts = parts;
  }

  /** Durable when it resolves. Throws `conflict`, `limit_reached`, `too_large`, `overloaded`. */
  async start(request: StartRequest): Promise<{ readonly task: TaskSnapshot; readonly existing: boolean }> {
    const draft = draftTask(request, { id: this.#parts.store.mint(), namespace: NAMESPACE }, this.#parts);
    await this.admit(request.principal);
    const created = await this.#create(draft, request.idempotencyKey);
    switch (created.kind) {
      case "created":
      case "existing":
        // The wake of the call that made it may have been lost together with its answer.
        if (created.task.stage.phase !== "settled") await this.#parts.drive?.wake(created.task);
        return { task: created.task, existing: created.kind === "existing" };
      default:
        throw notCreated(created);
    }
  }

  /** Throws `not_found`; `rate_limited` for polls much faster than advertised. */
  async get(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    const polled = found(await this.#parts.store.poll(this.#ref(principal, id), options));
    if (polled.kind === "task") return polled.task;
    const { pollBurst } = this.#parts.limits;
    throw tooFast("POLL_BURST", pollBurst, "keep to the task's poll interval.", polled.retryAfterMs);
  }

  /** The same at the end of a wait, which is no poll. Throws `not_found`. */
  async look(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    return found(await this.#read(principal, id, options));
  }

  /** The same for the server's own business: no poll, and unless wanted, without the body of a result. Null when there is none. */
  async peek(principal: Principal, id: string, options: ReadOptions = { body: false }): Promise<TaskSnapshot | null> {
    return this.#read(principal, id, options);
  }

  /** Unknown, answered and retired keys are ignored; a malformed answer retires its key and asks again. Throws `not_found`. */
  async answer(
    principal: Principal,
    id: string,
    answers: Readonly<Record<string, JsonText>>,
    turn?: Said,
  ): Promise<TaskSnapshot> {
    return (await this.#tell(principal, id, { kind: "answer", answers, ...(turn ? { turn } : {}) })).task;
  }

  /** What the client said besides: the same message again changes nothing. Throws `not_found`. */
  async say(principal: Principal, id: string, turn: Said, statusMessage: string | null): Promise<Told> {
    return this.#tell(principal, id, { kind: "say", turn, statusMessage });
  }

  /** Whether push targets can be set at all. */
  get pushes(): boolean {
    return this.#parts.store.pushes === true;
  }

  /** Throws `not_found`; `limit_reached` when the task has as many as it may. */
  async setPush(principal: Principal, id: string, target: PushWish): Promise<void> {
    await this.#tell(principal, id, { kind: "push", target });
    const { conversation } = found(await this.#read(principal, id, { body: false, conversation: true }));
    if (conversation?.push.some((one) => one.id === target.id)) return;
    throw overLimit("MAX_PUSH_TARGETS", MAX_PUSH_TARGETS, "delete a push notification configuration first.");
  }

  /** Throws `not_found`; that there was none of this id is nothing. */
  async removePush(principal: Principal, id: string, target: string): Promise<void> {
    await this.#tell(principal, id, { kind: "unpush", id: target });
  }

  /** Throws `not_found`; `changed` is false when it was settled already. */
  async cancel(principal: Principal, id: string): Promise<Told> {
    return this.#tell(principal, id, { kind: "cancel" });
  }

  /** The caller's own, newest first. Anonymous callers have no list. */
  async list(principal: Principal, page: Pick<TaskListQuery, "limit" | "after">): Promise<TaskListPage> {
    const owner = ownerOf(principal);
    return owner === null
      ? { rows: [], more: false }
      : this.#parts.store.list({ namespace: NAMESPACE, owner, ...page });
  }

  /** The caller's own that fit, newest change of phase first. Anonymous callers have none that could be listed. */
  async search(principal: Principal, query: Omit<TaskSearch, "namespace" | "owner">): Promise<TaskSearchPage> {
    const owner = ownerOf(principal);
    return owner === null
      ? { rows: [], more: false, total: 0 }
      : this.#parts.store.search({ namespace: NAMESPACE, owner, ...query });
  }

  /**
   * Stays with a task until it is settled, or (`restAt: "input"`) waits for input, and returns it then. Every event on
   * the way goes to `onEvent`, in order. Throws `not_found` when it expires meanwhile; rejects with the signal's reason.
   */
  async settle(principal: Principal, id: string, options: SettleOptions): Promise<TaskSnapshot> {
    const { signal, onSnapshot, onEvent, deliver = 0, onDeliver, onRelieved, restAt = "input" } = options;
    const ref = this.#ref(principal, id);
    const atRest = (phase: Phase): boolean => phase === "settled" || (restAt === "input" && phase === "input_required");
    let after: number | undefined;
    for (;;) {
      signal.throwIfAborted();
      const watching = { ...(after === undefined ? {} : { after }), deliver, signal };
      for await (const message of found(await this.#parts.store.watch(ref, watching))) {
        if (message.kind === "gone") throw notFound();
        if (message.kind === "deliver" || message.kind === "relieved") {
          if (message.kind === "deliver") onDeliver?.(message.questions);
          else onRelieved?.();
          continue;
        }
        const isEvent = message.kind === "event";
        const [phase, seq] = isEvent
          ? [message.entry.phase, message.entry.seq]
          : [message.task.stage.phase, message.task.version];
        if (isEvent) onEvent?.(message.entry);
        else onSnapshot?.(message.task);
        // Back at a feed that broke: what was missed of it follows, event by event.
        if (!isEvent && after !== undefined && seq > after) continue;
        after = Math.max(after ?? 0, seq);
        if (!atRest(phase)) continue;
        // A stream that only follows tells the phase and not the result.
        const task = found(await this.#read(principal, id, { body: deliver !== 1 }));
        if (atRest(task.stage.phase)) return task;
      }
    }
  }

  /** Which of the ids this caller may see, in the order given, without duplicates: to acknowledge a subscription. */
  async readable(principal: Principal, ids: readonly string[]): Promise<readonly string[]> {
    const readable: string[] = [];
    const unique = [...new Set(ids)];
    for (let at = 0; at < unique.length; at += PEEKS_AT_ONCE) {
      const some = unique.slice(at, at + PEEKS_AT_ONCE);
      const tasks = await Promise.all(some.map((id) => this.#read(principal, id, { body: false })));
      readable.push(...some.filter((_, n) => tasks[n] !== null));
    }
    return readable;
  }

  /**
   * Snapshots of the given tasks: each at once, then at every visible change, never an older one after a newer, until
   * all are settled or gone or the signal aborts.
   */
  follow(principal: Principal, ids: readonly string[], signal: AbortSignal): AsyncIterable<FollowMessage> {
    return follow(
      this.#parts.store,
      { namespace: NAMESPACE, owner: ownerOf(principal), ids: ids.filter((id) => this.#parts.store.recognises(id)) },
      signal,
    );
  }

  /** Which of the caller's tasks change, all of them; anonymous callers have no such feed. Ends when the signal aborts. */
  changes(principal: Principal, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    const owner = ownerOf(principal);
    if (owner === null) throw notFound();
    return this.#parts.store.listen(NAMESPACE, owner, signal);
  }

  async #create(draft: TaskDraft, key: string | undefined): Promise<Created> {
    const { store, sessions } = this.#parts;
    const idempotency = key === undefined ? undefined : { key, digest: await digestOfJson(draft.arguments) };
    if (draft.owner !== null || !idempotency) return store.create(draft, idempotency);
    const { session } = draft.client;
    if (!sessions || !session) return store.create(draft);
    const claimed = await sessions.claim(session, draft.tool, idempotency, draft.id);
    switch (claimed.kind) {
      case "claimed":
      case "existing":
        // Creating goes by the id, so it does not matter how far the first call came.
        return store.create({ ...draft, id: claimed.id });
      case "conflict":
        return claimed;
      case "limit":
        throw overLimit("SESSION_KEYS", SESSION_KEYS, "call without an idempotency key, or in a new session.");
    }
  }

  /** A place for one more stream of an anonymous caller, until the signal aborts; an owner's are counted at its feed. */
  async occupy(principal: Principal, signal: AbortSignal): Promise<void> {
    if (principal.kind === "anonymous") await this.#parts.store.occupy(principal.address ?? "", signal);
  }

  /** Counts what an anonymous caller begins; throws `rate_limited`. */
  async admit(principal: Principal): Promise<void> {
    if (principal.kind !== "anonymous") return;
    const retryAfterMs = await this.#parts.store.admit(principal.address ?? "");
    if (retryAfterMs !== null) throw tooManyCreated(this.#parts.limits.createsPerMinute, retryAfterMs);
  }

  async #tell(principal: Principal, id: string, command: Command): Promise<Told> {
    const told = found(await this.#parts.store.tell(this.#ref(principal, id), command));
    if (told.changed) await this.#parts.drive?.wake(told.task);
    return told;
  }

  async #read(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot | null> {
    if (!this.#parts.store.recognises(id)) return null;
    return this.#parts.store.read(this.#ref(principal, id), options);
  }

  #ref(principal: Principal, id: string): TaskRef {
    // What does not verify reaches no object; the answer is the same as for a missing task.
    if (!this.#parts.store.recognises(id)) throw notFound();
    return { id, owner: ownerOf(principal) };
  }
}

function found<T>(value: T | null): T {
  if (value === null) throw notFound();
  return value;
}

const digestOfJson = (text: JsonText): Promise<string> => digestOf(canonicalJson(JSON.parse(text) as Json));
