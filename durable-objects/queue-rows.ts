import type { Picked, PickWish, QueuedTask } from "../src/service/work-queue";
import { queueSql, queueUpgrades } from "./queue-sql";
import { Schema } from "./schema";

/** A task says every quarter of an hour that it still waits. */
const STALE_MS = 3_600_000;

/** How often the alarm looks for what was left behind. */
const TIDY_MS = 600_000;

type Row = { seq: number; id: string; lease: string };
type Lane = { owner: string; tool: string; served: number; head: number };
type Place = Pick<Lane, "owner" | "tool">;
type Turn = { owner: string; mark: number; before: number };

/**
 * The rows of one queue. All of it synchronous: what is decided and what is written belong to one block. Where nothing
 * was ever offered, asking stores nothing; where nothing waits, asking writes nothing.
 */
export class QueueRows extends Schema<keyof typeof queueSql> {
  constructor(storage: DurableObjectStorage) {
    super(storage, queueUpgrades, queueSql);
  }

  /** Whether there is news for those who found nothing. */
  offer({ id, owner, tool }: QueuedTask): boolean {
    return this.transaction(() => {
      if (!this.exists()) {
        this.create();
        this.#setAlarm();
      }
      const known = this.query<Row & Place>("byId", id)[0];
      if (known && known.lease === null) {
        this.query("keep", Date.now() + STALE_MS, known.seq);
        return false;
      }
      if (known) this.query("remove", known.seq);
      const news = this.query("nextOf", tool).length === 0;
      // JSON, so that any owner may stand in it, and nobody is one too.
      const name = JSON.stringify(owner);
      const added = this.query<{ seq: number }>("add", id, name, tool, Date.now() + STALE_MS)[0];
      this.query("enter", name, tool, name, added?.seq ?? 0);
      return news;
    });
  }

  withdraw(id: string): void {
    this.transaction(() => {
      const known = this.query<Row & Place>("byId", id)[0];
      if (!known) return;
      this.query("remove", known.seq);
      this.query("leave", known.owner, known.tool);
      this.query("forgetIdle");
    });
  }

  /** `news`: something waits again that nobody was told of. */
  pick({ key, max, now, until, tools }: PickWish): { readonly picked: readonly Picked[]; readonly news: boolean } {
    return this.transaction(() => {
      const lapsed = this.#lapse(now);
      const again = this.query<Row>("byKey", key).map(({ seq, id, lease }) => {
        this.query("prolong", until, seq);
        return { id, lease, until };
      });
      const picked = again.length > 0 ? again : this.#pickNew(key, max, until, tools);
      return { picked, news: lapsed && this.isWaiting() };
    });
  }

  agreed(held: readonly Picked[], gone: readonly Picked[], now: number): void {
    this.transaction(() => {
      const realNow = Date.now();
      for (const { id, lease, until } of held) {
        this.query("hold", until, realNow + Math.max(0, until - now), id, lease);
      }
      const turns = gone.flatMap(({ id, lease }) => this.query<Turn>("drop", id, lease));
      // The newest first: each gives the owner back the turn before it.
      for (const { owner, mark, before } of turns.sort((a, b) => b.mark - a.mark)) {
        this.query("unserve", before, owner, mark);
      }
      if (turns.length > 0) this.query("forgetIdle");
    });
  }

  isWaiting(): boolean {
    return this.query("next").length > 0;
  }

  /** Drops what its task has not spoken of for long; with nothing left, leaves nothing behind. */
  async tidy(): Promise<void> {
    this.transaction(() => {
      for (const { owner, tool } of this.query<Place>("stale", Date.now())) this.query("leave", owner, tool);
      this.query("forgetIdle");
      if (this.query("any").length > 0) this.#setAlarm();
    });
    if (this.query("any").length === 0) await this.wipe();
  }

  #pickNew(key: string, max: number, until: number, tools: readonly string[] | null): readonly Picked[] {
    const picked: Picked[] = [];
    while (picked.length < max) {
      const lane = this.#next(tools);
      if (!lane) break;
      const id = this.query<Row>("bySeq", lane.head)[0]?.id as string;
      const turn = this.query<{ last: number }>("turn")[0]?.last as number;
      const lease = crypto.randomUUID();
      this.query("give", key, lease, until, turn, lane.served, Date.now() + STALE_MS, lane.head);
      this.query("serve", turn, lane.owner);
      this.query("leave", lane.owner, lane.tool);
      picked.push({ id, lease, until });
    }
    if (picked.length > 0) this.query("forgetIdle");
    return picked;
  }

  #next(tools: readonly string[] | null): Lane | null {
    const lanes = tools === null ? this.query<Lane>("next") : tools.flatMap((tool) => this.query<Lane>("nextOf", tool));
    return lanes.sort((a, b) => a.served - b.served || a.head - b.head)[0] ?? null;
  }

  /** Nobody heard of what a task did not agree to in time: it waits on, in its old place. */
  #lapse(now: number): boolean {
    this.query("forget", now);
    const lapsed = this.query<Place & { seq: number }>("lapse", now);
    for (const { owner, tool, seq } of lapsed) this.query("enter", owner, tool, owner, seq);
    return lapsed.length > 0;
  }

  /** No await, or the commit would end here: the alarm's row lies in the same database. */
  #setAlarm(): void {
    void this.storage.setAlarm(Date.now() + TIDY_MS);
  }
}
