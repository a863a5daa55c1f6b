import { eventId, parseEventId } from "../src/service/event-id";
import {
  ASKING_TASKS,
  REPLAY_BYTES,
  REPLAY_EVENTS,
  SESSION_KEYS,
  type Claimed,
  type Sessions,
} from "../src/service/sessions";
import type { IdempotencyKey } from "../src/service/task-store";
import type { JsonText } from "../src/task/json";
import type { LogLevel } from "../src/tool/context";
import { Schema } from "./schema";
import { sessionSql, sessionUpgrades } from "./session-object-sql";

/** A stream that is this many events of other streams behind is forgotten, or each GET would leave a row. */
const STREAMS_KEPT = 1_000;

type Facts = { level: LogLevel | null; appended: number; bytes: number; claims: number };

/** What one session keeps, synchronously. Where nothing was ever kept, asking stores nothing. */
export class SessionRows extends Schema<keyof typeof sessionSql> {
  constructor(storage: DurableObjectStorage) {
    super(storage, sessionUpgrades, sessionSql);
  }

  /** One commit, or nothing. The first sets the alarm that ends it all, in the platform's time. */
  keep<T>(endsAt: number, write: () => T): T {
    return this.transaction(() => {
      if (!this.exists()) {
        this.create();
        // No await, or the commit would end here: the alarm's row lies in the same database.
        void this.storage.setAlarm(endsAt);
      }
      return write();
    });
  }

  /** The event's id. A message too large for the log is counted, and so missed by a replay across it. */
  append(stream: string, message: JsonText): string {
    const facts = this.#facts();
    const seq = facts.appended + 1;
    const n = this.query<{ last: number }>("countEvent", stream, seq)[0]?.last ?? 1;
    this.query("forgetStreams", seq - STREAMS_KEPT);
    const size = new TextEncoder().encode(message).length;
    let { bytes } = facts;
    if (size <= REPLAY_BYTES) {
      this.query("addEvent", seq, stream, n, size, message);
      bytes += size;
    }
    const dropped = this.query<{ bytes: number }>("dropEvents", seq - REPLAY_EVENTS);
    for (const event of dropped) bytes -= event.bytes;
    while (bytes > REPLAY_BYTES) bytes -= this.query<{ bytes: number }>("dropOldest")[0]?.bytes ?? bytes;
    this.query("tally", seq, bytes);
    return eventId(stream, n);
  }

  replay(lastEventId: string): Awaited<ReturnType<Sessions["replay"]>> {
    const seen = parseEventId(lastEventId);
    if (!seen) return null;
    const { stream, n } = seen;
    const last = this.query<{ last: number }>("last", stream)[0]?.last;
    const events = this.query<{ n: number; message: JsonText }>("events", stream, n);
    // All of it or nothing: with a gap the client would believe that it has everything.
    if (n + events.length !== last) return null;
    return { stream, events: events.map((event) => ({ id: eventId(stream, event.n), message: event.message })) };
  }

  setLevel(level: LogLevel): void {
    this.query("setLevel", level);
  }

  level(): LogLevel | null {
    return this.#facts().level;
  }

  ask(task: string): void {
    this.query("addAsking", task);
    this.query("cutAsking", ASKING_TASKS);
  }

  asking(): readonly string[] {
    return this.query<{ task: string }>("asking").map(({ task }) => task);
  }

  /** Null when the key may be bound. */
  claimed(tool: string, { key, digest }: IdempotencyKey, id: string): Claimed | null {
    const held = this.query<{ id: string; digest: string }>("claimed", tool, key)[0];
    if (!held) return this.#facts().claims < SESSION_KEYS ? null : { kind: "limit" };
    if (held.digest !== digest) return { kind: "conflict" };
    return { kind: held.id === id ? "claimed" : "existing", id: held.id };
  }

  claim(tool: string, { key, digest }: IdempotencyKey, id: string): Claimed {
    this.query("claim", tool, key, digest, id);
    this.query("countClaim");
    return { kind: "claimed", id };
  }

  #facts(): Facts {
    return this.query<Facts>("session")[0] ?? { level: null, appended: 0, bytes: 0, claims: 0 };
  }
}
