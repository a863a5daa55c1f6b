import { expect, it } from "vitest";
import type { Agent } from "./agent";
import { answered, begun, ENDED, reaches, said, upon } from "./talk";

/** Messages, what they begin, and what they go on with (A2A 1.0 §3.1.1, §3.2.2, §3.4). */
export function sending(agent: Agent): void {
  it("CORE-SEND-001 answers a message with a task, or with a message", async () => {
    expect(await agent.call("SendMessage", said("tck-complete-task"))).toMatchObject({
      task: { status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(await agent.call("SendMessage", said("tck-message-response"))).toMatchObject({
      message: { role: "ROLE_AGENT", parts: [{ text: "Direct message response" }] },
    });
  });

  it("CORE-SEND-002 takes no message for a task that has ended", async () => {
    const parked = await begun(agent, "tck-input-required");
    const ended = [
      await begun(agent, "tck-complete-task"),
      await begun(agent, "tck-reject-task"),
      await agent.call("CancelTask", { id: parked.id }),
    ];
    expect(ended.map(({ status }) => status.state)).toEqual([
      "TASK_STATE_COMPLETED",
      "TASK_STATE_REJECTED",
      "TASK_STATE_CANCELED",
    ]);
    for (const { id, status } of ended) {
      const answer = await agent.ask("SendMessage", said("tck-complete-task", { taskId: id }));
      expect(answer).toMatchObject(agent.refused("UNSUPPORTED_OPERATION"));
      expect((await agent.call("GetTask", { id })).status).toEqual(status);
    }
  });

  // As the text says (§3.1.1, §3.3.2); this version of the kit names no error for it and calls any refusal wrong.
  it("CORE-SEND-003 refuses a message of a media type that no skill takes", async () => {
    const contextId = crypto.randomUUID();
    const parts = [{ raw: "dGNr", mediaType: "application/x-unknown" }];
    const answer = await agent.ask("SendMessage", said("send", { contextId, parts }));
    expect(answer).toMatchObject(agent.refused("CONTENT_TYPE_NOT_SUPPORTED"));
    expect(await agent.call("ListTasks", { contextId })).toMatchObject({ totalSize: 0 });
  });

  it.each(["test-resubscribe-message-id", "tck-complete-task", "tck-input-required"])(
    "CORE-EXECUTION-MODE-001 waits with the client until the task of %s rests",
    async (behaviour) => {
      const rests = behaviour === "tck-input-required" ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_COMPLETED";
      const { status } = await begun(agent, behaviour, {}, { returnImmediately: false });
      expect(status.state).toBe(rests);
    },
  );

  it("CORE-EXECUTION-MODE-002 does not wait when it is asked not to", async () => {
    const task = await begun(agent, "test-resubscribe-message-id", {}, { returnImmediately: true });
    expect(task.status.state).toMatch(/^TASK_STATE_(SUBMITTED|WORKING)$/);
    await reaches(agent, task, "TASK_STATE_COMPLETED");
  });

  it("CORE-MULTI-001 CORE-MULTI-001a makes up a context where the client names none, and says so", async () => {
    const [first, second] = [await begun(agent, "tck-complete-task"), await begun(agent, "tck-complete-task")];
    expect([first.contextId, second.contextId]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(first.contextId).not.toBe(second.contextId);
    const { message } = await agent.call("SendMessage", said("tck-message-response"));
    expect(message.contextId).toMatch(/./);
  });

  it("CORE-MULTI-002 keeps the context that the client names", async () => {
    const contextId = crypto.randomUUID();
    expect(await begun(agent, "tck-complete-task", { contextId })).toMatchObject({ contextId });
    const answer = await agent.call("SendMessage", said("tck-message-response", { contextId }));
    expect(answer.message.contextId).toBe(contextId);
  });

  it("CORE-MULTI-002a refuses a context that it cannot keep", async () => {
    const answer = await agent.ask("SendMessage", said("tck-complete-task", { contextId: "c".repeat(257) }));
    expect(answer).toMatchObject(agent.refused("INVALID_PARAMS"));
    expect(answer.refusal?.message).toContain("message.contextId");
  });

  it("CORE-MULTI-003 gives each new task an id of its own, also to the same message", async () => {
    const params = said("tck-complete-task");
    const [first, second] = [await agent.call("SendMessage", params), await agent.call("SendMessage", params)];
    expect([first.task.id, second.task.id]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(first.task.id).not.toBe(second.task.id);
    expect(await agent.call("GetTask", { id: first.task.id })).toMatchObject({ id: first.task.id });
  });

  it("CORE-MULTI-004 finds no task by an id that it did not give", async () => {
    const sends = upon("no-such-task").filter(([operation]) => operation.startsWith("Send"));
    expect(sends).toHaveLength(2);
    for (const [operation, params] of sends) {
      expect(await agent.ask(operation, params)).toMatchObject(agent.refused("TASK_NOT_FOUND"));
    }
  });

  it("CORE-MULTI-005 knows the context of the task that a message names", async () => {
    const parked = await begun(agent, "tck-input-required");
    const task = await answered(agent, parked);
    expect(task).toMatchObject({ id: parked.id, contextId: parked.contextId });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.history.at(-1)).toMatchObject({ taskId: parked.id, contextId: parked.contextId });
  });

  it("CORE-MULTI-006 refuses a message whose context is not that of its task", async () => {
    const parked = await begun(agent, "tck-input-required");
    const message = { taskId: parked.id, contextId: crypto.randomUUID() };
    for (const { id } of [parked, await begun(agent, "tck-complete-task")]) {
      const answer = await agent.ask("SendMessage", said("tck-complete-task", { ...message, taskId: id }));
      expect(answer).toMatchObject(agent.refused("INVALID_PARAMS"));
    }
    const task = await agent.call("GetTask", { id: parked.id });
    expect(task.status.state).not.toMatch(ENDED);
    expect(await answered(agent, parked, { contextId: parked.contextId })).toMatchObject({ id: parked.id });
  });
}
