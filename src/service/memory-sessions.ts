import type { Clock } from "../clock";
import type { JsonText } from "../task/json";
import type { LogLevel } from "../tool/context";
import { Channel, closeOnAbort } from "./channel";
import { eventId, parseEventId } from "./event-id";
import {
  ASKING_TASKS,
  RECENT_CANCELS,
  REPLAY_BYTES,
  REPLAY_EVENTS,
  SESSION_KEYS,
  type Claimed,
  type Session,
  type SessionMessage,
  type SessionRole,
  type Sessions,
} from "./sessions";
import type { IdempotencyKey } from "./task-store";

type Event = { readonly stream: string; readonly n: number; readonly bytes: number; readonly message: JsonText };

type End = { readonly role: SessionRole; readonly channel: Channel<SessionMessage> };

type Kept = {
  readonly expiresAt: number;
  readonly ends: Set<End>;
  readonly claims: Map<string, { readonly id: string; readonly digest: string }>;
  /** The oldest first. */
  readonly asking: Set<string>;
  /** The number of each stream's newest event. */
  readonly streams: Map<string, number>;
  events: readonly Event[];
  level: LogLevel | null;
  /** Requests that were cancelled before their call was connected. */
  cancelled: readonly (string | number)[];
};

/** Sessions in one process's memory: for trials and tests. */
export class MemorySessions implements Sessions {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async append(session: Session, stream: string, message: JsonText): Promise<string> {
    const kept = this.#keep(session);
    const n = (kept.streams.get(stream) ?? 0) + 1;
    kept.streams.set(stream, n);
    const bytes = new TextEncoder().encode(message).length;
    if (bytes <= REPLAY_BYTES) kept.events = newest([...kept.events, { stream, n, bytes, message }]);
    return eventId(stream, n);
  }

  async replay(session: Session, lastEventId: string): ReturnType<Sessions["replay"]> {
    const kept = this.#find(session);
    const last = parseEventId(lastEventId);
    if (!kept || !last) return null;
    const { stream, n } = last;
    const events = kept.events.filter((event) => event.stream === stream && event.n > n);
    if (n + events.length !== kept.streams.get(stream)) return null;
    return { stream, events: events.map((event) => ({ id: eventId(stream, event.n), message: event.message })) };
  }

  async setLogLevel(session: Session, level: LogLevel): Promise<void> {
    this.#keep(session).level = level;
  }

  async logLevel(session: Session): Promise<LogLevel | null> {
    return this.#find(session)?.level ?? null;
  }

  async *attach(session: Session, role: SessionRole, signal: AbortSignal): AsyncGenerator<SessionMessage> {
    const { ends, asking, cancelled } = this.#keep(session);
    const end: End = { role, channel: new Channel() };
    ends.add(end);
    closeOnAbort(end.channel, signal);
    end.channel.push({ kind: "ready", asking: role.kind === "stream" ? [...asking] : [] });
    if (role.kind === "call" && cancelled.includes(role.requestId)) end.channel.push({ kind: "cancelled" });
    try {
      yield* end.channel;
    } finally {
      ends.delete(end);
    }
  }

  async answer(session: Session, call: string, key: string, answer: JsonText): Promise<boolean> {
    return this.#tell(session, (role) => role.kind === "call" && role.call === call, { kind: "answer", key, answer });
  }

  async cancel(session: Session, requestId: string | number): Promise<boolean> {
    const isMeant = (role: SessionRole): boolean => role.kind === "call" && role.requestId === requestId;
    const told = this.#tell(session, isMeant, { kind: "cancelled" });
    const kept = this.#keep(session);
    if (!told) kept.cancelled = [...kept.cancelled.slice(1 - RECENT_CANCELS), requestId];
    return told;
  }

  async asking(session: Session, task: string): Promise<void> {
    const { asking } = this.#keep(session);
    asking.delete(task);
    asking.add(task);
    for (const oldest of asking) if (asking.size > ASKING_TASKS) asking.delete(oldest);
    this.#tell(session, (role) => role.kind === "stream", { kind: "asking", task });
  }

  async claim(session: Session, tool: string, { key, digest }: IdempotencyKey, id: string): Promise<Claimed> {
    const { claims } = this.#keep(session);
    const name = JSON.stringify([tool, key]);
    const held = claims.get(name);
    if (held)
      return held.digest === digest
        ? { kind: held.id === id ? "claimed" : "existing", id: held.id }
        : { kind: "conflict" };
    if (claims.size >= SESSION_KEYS) return { kind: "limit" };
    claims.set(name, { id, digest });
    return { kind: "claimed", id };
  }

  #tell(session: Session, wanted: (role: SessionRole) => boolean, message: SessionMessage): boolean {
    const ends = [...(this.#find(session)?.ends ?? [])].filter(({ role }) => wanted(role));
    for (const { channel } of ends) channel.push(message);
    return ends.length > 0;
  }

  #find({ key }: Session): Kept | undefined {
    for (const [other, { expiresAt, ends }] of this.#kept) {
      if (this.#clock() < expiresAt) continue;
      for (const { channel } of ends) channel.close();
      this.#kept.delete(other);
    }
    return this.#kept.get(key);
  }

  #keep(session: Session): Kept {
    const known = this.#find(session);
    if (known) return known;
    const { key, expiresAt } = session;
    const collections = { ends: new Set<End>(), claims: new Map(), asking: new Set<string>(), streams: new Map() };
    const kept: Kept = { expiresAt, ...collections, events: [], level: null, cancelled: [] };
    this.#kept.set(key, kept);
    return kept;
  }
}

/** The newest events that are within the bounds together. */
function newest(events: readonly Event[]): readonly Event[] {
  let from = Math.max(0, events.length - REPLAY_EVENTS);
  let bytes = events.slice(from).reduce((sum, event) => sum + event.bytes, 0);
  for (; bytes > REPLAY_BYTES; from += 1) bytes -= events[from]?.bytes ?? 0;
  return events.slice(from);
}
