import { expect, it } from "vitest";
import { memorySubject } from "./memory-subject";
import { describeRecords } from "./run";

describeRecords("the memory store, in process", () => memorySubject());

it("D3 gives 10,000 tasks that are made at once as many ids", async () => {
  const worker = memorySubject().api("worker");
  const made = await Promise.all(Array.from({ length: 10_000 }, () => worker.create("none", {})));
  expect(new Set(made.map((created) => (created.kind === "created" ? created.record.id : ""))).size).toBe(10_000);
});
