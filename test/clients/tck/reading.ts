import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import { answered, answeredOnce, begun, textsOf, three } from "./talk";

/** One task, the list of them, and the end of one by its client's wish (A2A 1.0 §3.1.3–3.1.5). */
export function reading(agent: Agent): void {
  it("CORE-GET-001 tells how a task stands, and what it came to", async () => {
    const parked = await begun(agent, "tck-input-required");
    expect(await agent.call("GetTask", { id: parked.id })).toEqual(parked);
    const done = await begun(agent, "tck-artifact-text");
    const task = await agent.call("GetTask", { id: done.id });
    expect(task).toEqual(done);
    expect(task).toMatchObject({ artifacts: [{ parts: [{ text: "Generated text content" }] }] });
  });

  it.each(["no-such-task", "A".repeat(43), "../tasks", "ü:cancel", "x".repeat(500)])(
    "CORE-GET-002 finds no task by the id %s",
    async (id) => {
      expect(await agent.ask("GetTask", { id })).toMatchObject(agent.refused("TASK_NOT_FOUND"));
    },
  );

  it("CORE-LIST-001 lists the caller's own tasks, and nobody else's", async () => {
    const { contextId, tasks } = await three(agent);
    const other = { token: "owner-b" };
    expect((await agent.call("ListTasks", { contextId }, other)).tasks).toEqual([]);
    const { tasks: listed } = await agent.call("ListTasks", { contextId });
    expect(idsOf(listed).toSorted()).toEqual(idsOf(tasks).toSorted());
  });

  it("CORE-LIST-002 gives page after page, each task once", async () => {
    const { contextId, tasks } = await three(agent);
    const first = await agent.call("ListTasks", { contextId, pageSize: 2 });
    expect(first).toMatchObject({ pageSize: 2, totalSize: 3, nextPageToken: expect.stringMatching(/./) });
    const second = await agent.call("ListTasks", { contextId, pageSize: 2, pageToken: first.nextPageToken });
    expect(second).toMatchObject({ totalSize: 3, nextPageToken: "" });
    expect([first.tasks.length, second.tasks.length]).toEqual([2, 1]);
    expect(idsOf([...first.tasks, ...second.tasks]).toSorted()).toEqual(idsOf(tasks).toSorted());
    const bad = await agent.ask("ListTasks", { contextId, pageToken: "made-up" });
    expect(bad).toMatchObject(agent.refused("INVALID_PARAMS"));
  });

  it("CORE-LIST-003 lists what changed last first", async () => {
    const { contextId, tasks } = await three(agent, "tck-input-required");
    const [oldest, , newest] = tasks;
    await answered(agent, oldest);
    const { tasks: listed } = await agent.call("ListTasks", { contextId });
    const times = listed.map(({ status }: Wire) => Date.parse(status.timestamp));
    expect(times).toEqual(times.toSorted((a: number, b: number) => b - a));
    expect(idsOf(listed).slice(0, 2)).toEqual([oldest.id, newest.id]);
  });

  it("CORE-LIST-004 says on the last page that there is no other, and how many there are", async () => {
    const { contextId } = await three(agent);
    const whole = await agent.call("ListTasks", { contextId, pageSize: 100 });
    expect(whole).toMatchObject({ nextPageToken: "", pageSize: 100, totalSize: 3 });
    const none = await agent.call("ListTasks", { contextId: crypto.randomUUID() });
    expect(none).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  it("CORE-LIST-005 leaves artifacts out of the list unless they are asked for", async () => {
    const { contextId } = await begun(agent, "tck-artifact-text", { contextId: crypto.randomUUID() });
    for (const params of [{ contextId }, { contextId, includeArtifacts: false }]) {
      const [task] = (await agent.call("ListTasks", params)).tasks;
      expect(Object.keys(task)).not.toContain("artifacts");
    }
    const [task] = (await agent.call("ListTasks", { contextId, includeArtifacts: true })).tasks;
    expect(task.artifacts).toHaveLength(1);
  });

  it.each([
    ["tck-input-required", {}],
    ["test-resubscribe-message-id", { returnImmediately: true }],
  ])("CORE-CANCEL-001 cancels the task of %s, and says so", async (behaviour, configuration) => {
    const { id } = await begun(agent, behaviour, {}, configuration);
    const canceled = await agent.call("CancelTask", { id });
    expect(canceled).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
    expect((await agent.call("GetTask", { id })).status).toEqual(canceled.status);
    // Once more says the same (§3.3.1).
    expect((await agent.call("CancelTask", { id })).status).toEqual(canceled.status);
  });

  // 400 over HTTP, as of specification 1.0.1 §5.4; the kit still has the 409 of 1.0.0 in its table.
  it("CORE-CANCEL-002 cannot cancel what has ended otherwise", async () => {
    for (const behaviour of ["tck-complete-task", "tck-reject-task"]) {
      const { id, status } = await begun(agent, behaviour);
      expect(await agent.ask("CancelTask", { id })).toMatchObject(agent.refused("TASK_NOT_CANCELABLE"));
      expect((await agent.call("GetTask", { id })).status).toEqual(status);
    }
  });

  it("CORE-CANCEL-003 finds no task to cancel by an id that it did not give", async () => {
    expect(await agent.ask("CancelTask", { id: "no-such-task" })).toMatchObject(agent.refused("TASK_NOT_FOUND"));
  });
}

/** What was said, as often as it is read (A2A 1.0 §3.2.4). */
export function history(agent: Agent): void {
  const conversation = async (): Promise<Wire> => {
    const parked = await begun(agent, "tck-input-required", { parts: [{ text: "one" }] });
    for (const text of ["two", "three"]) await answeredOnce(agent, parked, text);
    const task = await answered(agent, parked, { parts: [{ text: "four" }] });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    return task;
  };

  it("CORE-HIST-001 leaves the history out of a task when none of it is wanted", async () => {
    const { id } = await begun(agent, "tck-complete-task");
    expect(Object.keys(await agent.call("GetTask", { id, historyLength: 0 }))).not.toContain("history");
  });

  it("CORE-HIST-002 gives no more messages than are wanted, the newest", async () => {
    const { id, history: all } = await conversation();
    for (const historyLength of [1, 2, 3, 100]) {
      const task = await agent.call("GetTask", { id, historyLength });
      expect(task.history).toEqual(all.slice(-historyLength));
    }
  });

  it("CORE-HIST-003 leaves it out of the answer to a message too", async () => {
    const parked = await begun(agent, "tck-input-required", {}, { historyLength: 0 });
    expect(Object.keys(parked)).not.toContain("history");
    const task = await begun(agent, "tck-complete-task", { taskId: parked.id }, { historyLength: 0 });
    expect(Object.keys(task)).not.toContain("history");
    expect((await agent.call("GetTask", { id: parked.id })).history.length).toBeGreaterThan(1);
  });

  it("CORE-HIST-004 keeps what was said, from both sides", async () => {
    const task = await conversation();
    const roles = task.history.map(({ role }: Wire) => role);
    expect(roles.filter((role: string) => role === "ROLE_USER")).toHaveLength(4);
    expect(roles).toContain("ROLE_AGENT");
    expect((await agent.call("GetTask", { id: task.id })).history).toEqual(task.history);
  });

  it("CORE-HIST-005 tells it in the order in which it was said", async () => {
    const { id } = await conversation();
    const { history: said } = await agent.call("GetTask", { id, historyLength: 20 });
    expect(textsOf(said)).toEqual(["one", "What else?", "two", "What else?", "three", "What else?", "four"]);
  });

  it("CORE-HIST-006 keeps each message as it was sent", async () => {
    const message = {
      messageId: `m-${crypto.randomUUID()}`,
      role: "ROLE_USER",
      parts: [{ text: "ü😀" }, { data: { text: "x", n: [1, null, 0.5] } }, { raw: "AAEC", filename: "a.bin" }],
      metadata: { skillId: "complete", mine: { deep: [true] } },
      extensions: ["https://example.com/ext"],
      referenceTaskIds: ["some-task"],
    };
    const { task } = await agent.call("SendMessage", { message });
    const { history: said } = await agent.call("GetTask", { id: task.id });
    expect(said[0]).toEqual({ ...message, taskId: task.id, contextId: task.contextId });
  });
}

const idsOf = (tasks: Wire): readonly string[] => tasks.map(({ id }: Wire) => id);
