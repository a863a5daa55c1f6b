import { DurableObject } from "cloudflare:workers";
import { applyCommand, createRecord } from "../src/record/apply";
import type { RecordCommand, RecordTold } from "../src/record/command";
import { isRecordExpired, mayAsk, type RecordEntry, type Revision, type StoredRecord } from "../src/record/record";
import { Outbox } from "../src/service/outbox";
import type { Examined } from "../src/service/task-index";
import { broadcast, feedWish, openEnds, openFeed, send } from "./feed-socket";
import { MORE, type RecordFeedMessage, type RecordWish } from "./record-feed";
import { isNews, recordMirror } from "./record-mirror";
import {
  recordIndexStub,
  type NewRecord,
  type RecordAsk,
  type RecordCalls,
  type RecordMade,
  type RecordPlace,
} from "./record-rpc";
import { RecordShelf, Unreadable, type Shelved } from "./record-shelf";
import type { Bindings, Wiring } from "./wiring";

/** Should the process die before the index is told, the alarm does it. */
const TELL_BY_MS = 30_000;

/** As many entries as a new watcher is sent at once. */
const BATCH = 1_000;

/** A record that is there. */
type Live = Shelved & { readonly record: StoredRecord };

/** One record of the store API. The object persists and announces; what a command makes of it, src/record says. */
class RecordObjectBase extends DurableObject<Bindings> implements RecordCalls {
  readonly #wiring: Wiring;
  readonly #retentionMs: number;
  readonly #shelf: RecordShelf;
  readonly #outbox: Outbox;
  /** Whether an alarm is set, as far as this incarnation knows. */
  #armed = false;

  constructor(ctx: DurableObjectState, env: Bindings, wiring: Wiring) {
    super(ctx, env);
    this.#wiring = wiring;
    this.#retentionMs = wiring.configOf(env).limits.retentionMs;
    this.#shelf = new RecordShelf(ctx.storage, (at) => at - wiring.clock() + Date.now());
    this.#outbox = new Outbox({
      clock: wiring.clock,
      random: Math.random,
      send: () => this.#tellIndex(),
      retry: () => this.#arm(),
    });
  }

  /** The first one wins. `late` from the reservation's deadline on. */
  async create(made: NewRecord): Promise<RecordMade> {
    const { key, owner, content, deadline, index, mark, attempt } = made;
    const there = this.#lookedAt();
    if (there === "unreadable") return { kind: "taken" };
    if (there && there.index !== index) return { kind: "foreign" };
    if (there?.record && there.attempt === attempt) return { kind: "created", record: there.record };
    // Of a record that was removed the row has to go first: it may still be on its way out.
    if (there && (there.record || there.mark === mark)) return { kind: "taken" };
    const now = this.#wiring.clock();
    if (now >= deadline) return { kind: "late" };
    const { record, entries } = createRecord({ id: key.id, namespace: key.namespace.name, owner }, content, now);
    // No alarm: until the index knows of it, the reservation is due, and the sweep asks.
    this.#shelf.put(made, record, entries, key.namespace);
    await this.#tell();
    return { kind: "created", record };
  }

  async read(ask: RecordAsk): Promise<StoredRecord | null> {
    return this.#visible(ask)?.record ?? null;
  }

  async write(ask: RecordAsk, command: RecordCommand): Promise<RecordTold | null> {
    const live = this.#visible(ask);
    if (!live) return null;
    const { entries, ...told } = applyCommand(live.record, command, this.#wiring.clock());
    if (told.kind !== "written") return told;
    const news = isNews(live.record, told.record);
    this.#shelf.put(live, told.record, entries, ask.key.namespace, news ? this.#tellBy() : undefined);
    for (const entry of entries) broadcast(this.ctx, { kind: "entry", entry } satisfies RecordFeedMessage);
    if (news) await this.#tell();
    return told;
  }

  async remove(ask: RecordAsk): Promise<boolean> {
    if (!this.#visible(ask)) return false;
    this.#shelf.bury(this.#tellBy());
    this.#letGo();
    await this.#tell();
    return true;
  }

  async entries(ask: RecordAsk, after: number, limit: number): Promise<readonly RecordEntry[] | null> {
    return this.#visible(ask) && this.#shelf.entries(after, limit);
  }

  async revisions(ask: RecordAsk): Promise<readonly Revision[] | null> {
    return this.#visible(ask) && this.#shelf.revisions();
  }

  /** What cannot be read is collected when somebody wants to know: it is due, or its id is wanted again. */
  async examine(index: string, retentionMs: number): Promise<Examined> {
    const there = this.#lookedAt();
    const gone = { id: "", found: false } as const;
    if (there === null || (there !== "unreadable" && there.index !== index)) return gone;
    if (there !== "unreadable" && there.record && !this.#isExpired(there.record, retentionMs)) {
      this.#outbox.sent();
      const mirror = recordMirror(there.record, there.mark, this.#retentionMs);
      return { id: there.id, found: true, mirror, poked: false };
    }
    this.#letGo();
    this.#outbox.forget();
    await this.#clear();
    return gone;
  }

  /** The index is still owed something. Whether the incarnation before told it is not known; twice is harmless. */
  override async alarm(): Promise<void> {
    this.#armed = false;
    const there = this.#lookedAt();
    if (there !== null && there !== "unreadable") await this.#tell();
  }

  /** The record's log from after an entry on; 404 when there is nothing the asker may see. */
  override async fetch(request: Request): Promise<Response> {
    const wish = feedWish<RecordWish>(request);
    const { ask, after } = wish.record;
    const live = this.#visible(ask);
    // Only who may see the record learns that it is much watched.
    if (!live) return new Response(null, { status: 404 });
    return openFeed(this.ctx, wish, (socket) => {
      const missed = this.#shelf.entries(after, BATCH);
      for (const entry of missed) send(socket, { kind: "entry", entry } satisfies RecordFeedMessage);
      if ((missed.at(-1)?.seq ?? live.record.seq) < live.record.seq) socket.close(MORE);
    });
  }

  #visible({ key, asker }: RecordAsk): Live | null {
    const there = this.#lookedAt();
    if (there === null || there === "unreadable" || !isLive(there)) return null;
    const { record } = there;
    const { namespace, space } = key;
    // Who knows no more than a minted id names no space.
    const isMeant = record.namespace === namespace.name && (space === null || space === record.owner);
    if (!isMeant || !mayAsk(record, asker, namespace)) return null;
    return this.#isExpired(record, this.#retentionMs) ? null : there;
  }

  /** What lies here. What is damaged reads as if nothing did, and somebody should look into it. */
  #lookedAt(): Shelved | "unreadable" | null {
    try {
      return this.#shelf.load();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      const object = this.ctx.id.name ?? this.ctx.id.toString();
      this.#wiring.log("error", "A record cannot be read.", { object, error: error.message });
      return "unreadable";
    }
  }

  #isExpired(record: StoredRecord, retentionMs: number): boolean {
    return isRecordExpired(record, this.#wiring.clock(), retentionMs);
  }

  #letGo(): void {
    for (const end of openEnds(this.ctx)) {
      end.send({ kind: "gone" });
      end.close();
    }
  }

  #tellBy(): number {
    this.#armed = true;
    return this.#wiring.clock() + TELL_BY_MS;
  }

  /** Tells the index where the record stands now, or leaves that to the alarm. */
  async #tell(): Promise<void> {
    this.#outbox.owe();
    await this.#outbox.flush();
    if (this.#outbox.owes() || !this.#armed) return;
    this.#armed = false;
    this.#shelf.setAlarm(null);
  }

  async #tellIndex(): Promise<{ readonly watched: boolean }> {
    const there = this.#shelf.load();
    if (!there) return { watched: false };
    const index = recordIndexStub(this.env, there.index);
    if (there.record) return index.mirror(recordMirror(there.record, there.mark, this.#retentionMs));
    await index.swept([{ id: there.id, found: false, mark: there.mark }], this.#wiring.clock());
    // A new record may lie here by now.
    if (this.#isBuried(there)) await this.#clear();
    return { watched: false };
  }

  #isBuried({ mark }: RecordPlace): boolean {
    const there = this.#shelf.load();
    return there?.record === null && there.mark === mark;
  }

  #arm(): void {
    // Collected meanwhile: an alarm would be all that is left.
    if (this.#lookedAt() === null) return;
    this.#armed = true;
    this.#shelf.setAlarm(this.#outbox.retryAt() ?? this.#tellBy());
  }

  async #clear(): Promise<void> {
    this.#armed = false;
    await this.#shelf.clear();
  }
}

const isLive = (there: Shelved): there is Live => there.record !== null;

/** The class the platform makes: it passes context and env only, so the wiring is closed over. */
export const recordObject = (wiring: Wiring) =>
  class extends RecordObjectBase {
    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env, wiring);
    }
  };
