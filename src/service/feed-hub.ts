import { elect, type Rank, type Watcher } from "./carrier";
import type { OpenQuestion, TaskFeedMessage } from "./task-store";

/** One watcher's end of a task's feed. Its state outlives the hub: an object may hibernate while its sockets stay. */
export type FeedEnd = {
  /** What it is sent after it has left goes nowhere. */
  readonly send: (message: TaskFeedMessage) => void;
  readonly close: () => void;
  readonly watcher: () => Watcher;
  readonly become: (watcher: Watcher) => void;
};

/** Everyone who watches one task, and which of them carries its questions. Keeps nothing itself. */
export class FeedHub {
  readonly #ends: () => readonly FeedEnd[];

  constructor(ends: () => readonly FeedEnd[]) {
    this.#ends = ends;
  }

  /** The first messages of a watcher that has just been let in. */
  welcome(end: FeedEnd, rank: Rank, messages: readonly TaskFeedMessage[], open: readonly OpenQuestion[]): void {
    const since = 1 + Math.max(0, ...this.#ends().map((other) => (other === end ? 0 : other.watcher().since)));
    end.become({ rank, since, carries: false, holds: false });
    for (const message of messages) end.send(message);
    this.settle(open);
  }

  announce(message: TaskFeedMessage, last: boolean): void {
    for (const end of this.#ends()) {
      end.send(message);
      if (last) end.close();
    }
  }

  /** After the open questions changed, `fresh` being the new ones, or after somebody came or left. */
  settle(open: readonly OpenQuestion[], fresh: readonly OpenQuestion[] = []): void {
    const ends = this.#ends();
    // Nothing is open, so nobody holds anything; a question asked again stays with whoever had it.
    if (open.length === 0)
      for (const end of ends) if (end.watcher().holds) end.become({ ...end.watcher(), holds: false });
    const chosen = elect(ends.map((end) => ({ ...end.watcher(), end })))?.end;
    for (const end of ends) {
      if (end === chosen || !end.watcher().carries) continue;
      end.become({ ...end.watcher(), carries: false, holds: false });
      end.send({ kind: "relieved" });
    }
    if (!chosen) return;
    const before = chosen.watcher();
    const questions = before.carries ? fresh : open;
    if (before.carries && questions.length === 0) return;
    chosen.become({ ...before, carries: true, holds: before.holds || questions.length > 0 });
    chosen.send({ kind: "deliver", questions });
  }
}
