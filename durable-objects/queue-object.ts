import { DurableObject } from "cloudflare:workers";
import type { Picked, PickWish, QueuedTask, WorkQueue } from "../src/service/work-queue";
import { broadcast, openFeed, send } from "./feed-socket";
import { QueueRows } from "./queue-rows";

/** One queue: the tasks that wait in it, those it gave out a moment ago, and the claims that wait for one. */
export class QueueObject extends DurableObject implements Omit<WorkQueue, "watch"> {
  readonly #rows = new QueueRows(this.ctx.storage);

  async offer(task: QueuedTask): Promise<void> {
    if (this.#rows.offer(task)) this.#wake();
  }

  async withdraw(id: string): Promise<void> {
    this.#rows.withdraw(id);
  }

  async pick(wish: PickWish): Promise<readonly Picked[]> {
    const { picked, news } = this.#rows.pick(wish);
    if (news) this.#wake();
    return picked;
  }

  async agreed(held: readonly Picked[], gone: readonly Picked[], now: number): Promise<void> {
    this.#rows.agreed(held, gone, now);
  }

  /** Tasks take themselves out; what was lost on the way goes now and then. */
  override async alarm(): Promise<void> {
    await this.#rows.tidy();
  }

  /** Says when there may be something to pick. A hibernating socket: nobody pays for waiting. */
  override async fetch(): Promise<Response> {
    return openFeed(this.ctx, {}, (socket) => {
      if (this.#rows.isWaiting()) send(socket, { kind: "waiting" });
    });
  }

  #wake(): void {
    broadcast(this.ctx, { kind: "waiting" });
  }
}
