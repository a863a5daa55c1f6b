import type { WorkQueues } from "../src/service/work-queue";
import { attach, ownerFeed } from "./feed";
import { calling } from "./object-call";
import { queueStub, type StorageBindings } from "./rpc";

/** Each queue is an object of its own. All its calls may be repeated: they go by task id or by claim key. */
export const durableQueues =
  (objects: StorageBindings): WorkQueues =>
  (name) => ({
    offer: (task, now) => calling(() => queueStub(objects, name).offer(task, now)),
    withdraw: (id) => calling(() => queueStub(objects, name).withdraw(id)),
    pick: (wish) => calling(() => queueStub(objects, name).pick(wish)),
    agreed: (held, gone, now) => calling(() => queueStub(objects, name).agreed(held, gone, now)),
    watch: (signal) => ownerFeed<unknown>(() => attach(queueStub(objects, name), {}, signal), signal),
  });
