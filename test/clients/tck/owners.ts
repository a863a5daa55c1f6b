import { expect, it } from "vitest";
import type { Agent } from "./agent";
import { begun, three, upon } from "./talk";

const OTHER = { token: "owner-b" };

/** Who may do what, and who learns of what (A2A 1.0 §7.4, §13.1, §3.3.2). The kit names these and tests none. */
export function owners(agent: Agent): void {
  it.each([null, "wrong", "owner-a2"])("AUTH-SERVER-002 does nothing for a caller with the token %s", async (token) => {
    const task = await begun(agent, "tck-input-required");
    const all = [...upon(task.id), ["ListTasks", {}], ["GetExtendedAgentCard", {}]] as const;
    for (const [operation, params] of all) {
      const { status, headers, refusal } = await agent.ask(operation, params, { token });
      expect([operation, status, refusal?.reason]).toEqual([operation, 401, "UNAUTHENTICATED"]);
      expect(headers.get("www-authenticate")).toMatch(/^Bearer /);
    }
    expect(await agent.call("GetTask", { id: task.id })).toEqual(task);
  });

  it("AUTH-SCOPE-001 lets nobody but its owner at a task, by any operation", async () => {
    const task = await begun(agent, "tck-input-required");
    const config = { taskId: task.id, id: "c", url: "https://hooks.example/mine" };
    await agent.call("CreateTaskPushNotificationConfig", config);
    for (const [operation, params] of upon(task.id)) {
      const answer = await agent.ask(operation, params, OTHER);
      expect([operation, answer]).toMatchObject([operation, agent.refused("TASK_NOT_FOUND")]);
    }
    const [{ metadata: _, ...after }, { metadata: __, ...before }] = [
      await agent.call("GetTask", { id: task.id }),
      task,
    ];
    expect(after).toEqual(before);
    const { configs } = await agent.call("ListTaskPushNotificationConfigs", { taskId: task.id });
    expect(configs).toEqual([config]);
  });

  it("AUTH-SCOPE-002 lists to each caller what is his, under a context that both name", async () => {
    const { contextId, tasks } = await three(agent);
    const { task: theirs } = await agent.call(
      "SendMessage",
      {
        message: {
          messageId: "m",
          role: "ROLE_USER",
          contextId,
          parts: [{ text: "x" }],
          metadata: { skillId: "complete" },
        },
      },
      OTHER,
    );
    expect(await agent.call("ListTasks", { contextId })).toMatchObject({ totalSize: tasks.length });
    expect(await agent.call("ListTasks", { contextId }, OTHER)).toMatchObject({
      totalSize: 1,
      tasks: [{ id: theirs.id }],
    });
    // A page is nobody else's to read on from.
    const { nextPageToken: pageToken } = await agent.call("ListTasks", { contextId, pageSize: 1 });
    const answer = await agent.ask("ListTasks", { contextId, pageToken }, OTHER);
    expect(answer).toMatchObject(agent.refused("INVALID_PARAMS"));
  });

  it("AUTH-SCOPE-003 says of a task of somebody else what it says of one that never was", async () => {
    const { id } = await begun(agent, "tck-complete-task");
    const none = upon("no-such-task");
    for (const [at, [operation, params]] of upon(id).entries()) {
      const { headers: _, ...foreign } = await agent.ask(operation, params, OTHER);
      const [sameOperation, sameParams] = none[at]!;
      const { headers: __, ...missing } = await agent.ask(sameOperation, sameParams, OTHER);
      expect([operation, foreign]).toEqual([operation, missing]);
    }
  });
}
