// The clients' own log of the store API's records: what they were told of each.

import { spaceOf } from "./record-places.ts";

/** Who calls: by their tokens. */
export type Caller = "owner-a" | "owner-b" | "worker" | "admin";

/** A record as the API tells it, read by nobody but its clients. */
export type RecordSeen = {
  readonly id: string;
  readonly owner: string | null;
  readonly version: number;
  readonly createdAt: number;
  readonly ttlMs: number | null;
  readonly seq: number;
  readonly task: { readonly status: string; readonly inputRequests: Readonly<Record<string, unknown>> } | null;
  readonly document: { readonly counter: number; readonly save?: string };
};

/** Where it lies, and who looks after it. */
export type RecordPlace = { readonly namespace: string; readonly as: Caller; readonly query: string };

export type KnownRecord = RecordPlace & {
  readonly id: string;
  readonly owner: string | null;
  readonly expiresAt: number;
  /** The newest that somebody was told of. */
  version: number;
  /** The status that it ended with; null: nobody has seen it end. */
  final: string | null;
  /** Version → what it was told to be: the same for ever. */
  readonly texts: Map<number, string>;
  /** Of its counter: how often one was acknowledged, and how often nobody knows. */
  counted: number;
  doubtful: number;
  /** Question → every answer that was sent for it, and the one that was acknowledged as taken. */
  readonly answers: Map<string, { readonly sent: string[]; taken: string | null }>;
  /** Each document that was sent to be saved whatever lay there; none, where it is only added to. */
  readonly saves: Set<string>;
  /** When it was first sent what may have ended it, by the server's time; null: never. */
  endSent: number | null;
  /** `maybe` from when it was asked for. */
  removed: "no" | "maybe" | "yes";
};

/** One call of the cleanup: what is final, has no ttl and had ended so long before `until` may be gone by it. */
export type Cleanup = {
  readonly space: string;
  readonly limitMs: number;
  /** When it was answered, or lost with the server, by the server's time; Infinity while it goes on. */
  until: number;
};

type Log = {
  found(about: string, says: string): void;
  count(what: string): void;
};

export class RecordBook {
  readonly all = new Map<string, KnownRecord>();
  readonly cleanups: Cleanup[] = [];
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Those that can be worked with. */
  live(now: number): readonly KnownRecord[] {
    return [...this.all.values()].filter(({ removed, expiresAt }) => removed === "no" && expiresAt > now);
  }

  acknowledged(place: RecordPlace, seen: RecordSeen): KnownRecord {
    const { id, owner, createdAt, ttlMs } = seen;
    const name = `${place.namespace}/${id}`;
    const known = this.all.get(name);
    if (known) {
      this.saw(known, seen, 0);
      return known;
    }
    const fresh: KnownRecord = {
      ...place,
      id,
      owner,
      expiresAt: ttlMs === null ? Infinity : createdAt + ttlMs,
      version: 0,
      final: null,
      texts: new Map(),
      counted: 0,
      doubtful: 0,
      answers: new Map(),
      saves: new Set(seen.document.save === undefined ? [] : [JSON.stringify(seen.document)]),
      endSent: null,
      removed: "no",
    };
    this.all.set(name, fresh);
    this.#log.count("records acknowledged");
    this.#log.count(`records acknowledged ${place.namespace}`);
    this.saw(fresh, seen, 0);
    return fresh;
  }

  /** `least`: the version that somebody had been told of when this was asked for. */
  saw(known: KnownRecord, { version, ...seen }: RecordSeen, least: number): void {
    const name = `${known.namespace}/${known.id}`;
    const found = (says: string): void => this.#log.found("records are kept", `The record ${name} ${says}`);
    if (version < least) found(`was at version ${least}, and then at ${version}.`);
    const text = JSON.stringify(seen);
    const before = known.texts.get(version);
    known.texts.set(version, before ?? text);
    if (before !== undefined && before !== text) found(`at version ${version} read ${before}, and then ${text}.`);
    if (version > known.version) known.version = version;
    const status = seen.task?.status ?? null;
    if (known.final !== null && version >= least && least > 0 && isFinal(status) && status !== known.final)
      found(`ended as ${known.final}, and then as ${status}.`);
    if (isFinal(status)) known.final ??= status;
  }

  /** By the server's time: nothing is promised of it any more. */
  mayBeGone(known: KnownRecord, now: number): boolean {
    return known.removed !== "no" || now >= known.expiresAt || this.#mayBeCleanedUp(known);
  }

  /** `now` is the server's time. */
  missing(known: KnownRecord, now: number): void {
    const { namespace, id } = known;
    if (!this.mayBeGone(known, now))
      this.#log.found("records are kept", `The record ${namespace}/${id} was acknowledged, and is not found.`);
    if (known.removed !== "no" || !this.#mayBeCleanedUp(known)) return;
    // Once it has gone it stays away.
    known.removed = "yes";
    this.#log.count("records cleaned up");
  }

  #mayBeCleanedUp(known: KnownRecord): boolean {
    const { endSent, expiresAt } = known;
    if (endSent === null || expiresAt !== Infinity) return false;
    const space = spaceOf(known);
    return this.cleanups.some((cleanup) => cleanup.space === space && endSent + cleanup.limitMs <= cleanup.until);
  }
}

export const isFinal = (status: string | null): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";
