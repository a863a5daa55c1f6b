import type { QueueCalls } from "../../src/service/queue-offer";

/** For tests whose tools run where the task is. */
export const noQueues: QueueCalls = {
  offer: () => Promise.reject(new Error("This test has no queues.")),
  withdraw: () => Promise.reject(new Error("This test has no queues.")),
};
