import { describe, expect, it } from "vitest";
import { durableWorkflows } from "../../durable-objects/durable-workflows";
import { createTask } from "../../src/task/transition";
import { draft } from "../support/task";

/** An engine that has one Workflow already, which stands as given; what it is sent. */
function engine(status: string) {
  const sent: string[] = [];
  const instance = {
    status: async () => ({ status }),
    sendEvent: async ({ type }: { type: string }) => void sent.push(type),
  };
  const workflow = {
    create: async () => Promise.reject(new Error("already exists")),
    get: async () => instance,
  };
  const calls = durableWorkflows({ TASK_WORKFLOW: workflow as never }, () => {});
  return { sent, wake: () => calls?.wake(createTask(draft()).task) };
}

describe("waking a Workflow that is there", () => {
  // One that is queued when its engine dies was seen to stay so for ever, unless something reached it.
  it.each(["queued", "running", "waiting"])("reaches one that is %s", async (status) => {
    const { sent, wake } = engine(status);
    expect(await wake()).toBeNull();
    expect(sent).toHaveLength(1);
  });

  it.each(["paused", "complete"])("leaves one alone that is %s", async (status) => {
    const { sent, wake } = engine(status);
    await wake();
    expect(sent).toEqual([]);
  });
});
