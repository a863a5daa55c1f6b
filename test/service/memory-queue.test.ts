import { expect, it } from "vitest";
import { MemoryQueue, memoryQueues } from "../../src/service/memory-queue";
import { describeWorkQueue } from "../stores/queue-contract";

describeWorkQueue("a queue in memory", () => new MemoryQueue());

it("keeps the queues of a deployment apart, and knows each again", async () => {
  const queues = memoryQueues();
  await queues("one").offer({ id: "a", owner: null, tool: "t" }, 0);
  const wish = { key: "k", max: 1, now: 0, until: 1, tools: null };
  expect(await queues("two").pick(wish)).toEqual([]);
  expect(await queues("one").pick(wish)).toMatchObject([{ id: "a" }]);
});
