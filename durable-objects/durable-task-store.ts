import type { Clock } from "../src/clock";
import { IndexedTaskStore } from "../src/service/indexed-task-store";
import type { Limits } from "../src/service/limits";
import type { Examined } from "../src/service/task-index";
import type {
  OwnerFeedMessage,
  SweepReport,
  TaskFeedMessage,
  TaskRef,
  TaskStore,
  WatchOptions,
} from "../src/service/task-store";
import type { TaskDraft } from "../src/task/task";
import { mintTaskId } from "../src/task-id";
import { attach, ownerFeed, taskFeed } from "./feed";
import type { Crowd } from "./feed-socket";
import { mintedId } from "./minted-id";
import { addressName, ownerIndexName } from "./names";
import { calling, callingOnce, passedOn } from "./object-call";
import type { OwnerIndex } from "./owner-index";
import { indexOf, indexStub, taskStub, type StorageBindings, type TaskWish } from "./rpc";
import { examineTask, sweepObjects } from "./sweep-objects";

export type DurableTaskStoreParts = {
  readonly objects: StorageBindings;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** A task is an object of its own; an owner's index keeps the caps and the list; the directory finds what is due. */
export const durableTaskStore = (parts: DurableTaskStoreParts): TaskStore => new DurableTaskStore(parts);

class DurableTaskStore extends IndexedTaskStore {
  readonly #objects: StorageBindings;

  constructor(parts: DurableTaskStoreParts) {
    super(parts);
    this.#objects = parts.objects;
  }

  mint(): string {
    return mintTaskId(() => this.#objects.TASKS.newUniqueId().toString());
  }

  recognises(id: string): boolean {
    return this.#task(id) !== null;
  }

  async occupy(address: string, signal: AbortSignal): Promise<void> {
    await calling(() => attach(indexStub(this.#objects, addressName(address)), this.#crowd(), signal));
  }

  async admit(address: string): Promise<number | null> {
    const counter = this.#objects.OWNERS.getByName(addressName(address)) as unknown as Pick<OwnerIndex, "admit">;
    return calling(() => counter.admit(this.limits.createsPerMinute, this.clock()));
  }

  async watch({ id, owner }: TaskRef, options: WatchOptions): Promise<AsyncIterable<TaskFeedMessage> | null> {
    const task = this.#task(id);
    if (!task) return null;
    const { after, deliver = 0, signal } = options;
    const open = (from: number | undefined) => {
      const wish: TaskWish = { owner, after: from, deliver, ...this.#crowd() };
      return attach<TaskFeedMessage>(task(), wish, signal);
    };
    const first = await calling(() => open(after));
    return first && taskFeed(first, open, after, signal);
  }

  listen(namespace: string, owner: string, signal: AbortSignal): AsyncIterable<OwnerFeedMessage> {
    const name = ownerIndexName(namespace, owner, "");
    return ownerFeed(() => attach<OwnerFeedMessage>(indexStub(this.#objects, name), this.#crowd(), signal), signal);
  }

  sweep(budget: number): Promise<SweepReport> {
    return sweepObjects({ objects: this.#objects, limits: this.limits, clock: this.clock }, budget);
  }

  protected placeOf(id: string) {
    const task = this.#task(id);
    return (
      task && {
        // Told twice, each of these says the same again.
        ...passedOn(task, "create", "read", "poll", "work"),
        // Repeating it would do no harm, but would report what the first try changed as unchanged.
        tell: (...given: Parameters<ReturnType<typeof task>["tell"]>) => callingOnce(() => task().tell(...given)),
      }
    );
  }

  protected indexOf(task: Pick<TaskDraft, "namespace" | "owner" | "id">) {
    return passedOn(() => indexOf(this.#objects, task), "reserve", "release", "list", "search", "swept");
  }

  protected examine(id: string): Promise<Examined> {
    return calling(() => examineTask(this.#objects, id));
  }

  #crowd(): Crowd {
    return { streams: this.limits.maxStreamsPerOwner };
  }

  /** A new stub for each call; null for an id that was not minted here, which wakes nothing. */
  #task(id: string) {
    const hex = mintedId(this.#objects.TASKS, id)?.toString();
    return hex === undefined ? null : () => taskStub(this.#objects, hex);
  }
}
