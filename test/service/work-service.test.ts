import { memoryQueues } from "../../src/service/memory-queue";
import { MemoryTaskStore } from "../../src/service/memory-task-store";
import { queueCalls } from "../../src/service/queue-offer";
import { describeWorkers } from "../stores/workers-contract";

const fetch = () => Promise.reject(new Error("These tools fetch nothing."));

describeWorkers("workers of a deployment in memory", ({ registry, limits, clock }) => {
  const queues = memoryQueues();
  const parts = { queues: queueCalls(queues, clock), registry, limits, clock, fetch, log: () => {} };
  return { store: new MemoryTaskStore(parts), queues };
});
