import type { WorkQueues } from "../src/service/work-queue";
import { attach, ownerFeed } from "./feed";
import { passedOn } from "./object-call";
import { queueStub, type StorageBindings } from "./rpc";

/** Each queue is an object of its own. All its calls may be repeated: they go by task id or by claim key. */
export const durableQueues =
  (objects: StorageBindings): WorkQueues =>
  (name) => {
    const queue = () => queueStub(objects, name);
    return {
      ...passedOn(queue, "offer", "withdraw", "pick", "agreed"),
      watch: (signal) => ownerFeed<unknown>(() => attach(queue(), {}, signal), signal),
    };
  };
