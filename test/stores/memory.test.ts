import { MemoryTaskStore } from "../../src/service/memory-task-store";
import { noQueues } from "../support/no-queues";
import { describeTaskStore } from "./contract";

describeTaskStore("memory", ({ registry, limits, clock }) => {
  const fetch = () => Promise.reject(new Error("The tools of the store tests fetch nothing."));
  return new MemoryTaskStore({ queues: noQueues, registry, limits, clock, fetch, log: () => {} });
});
