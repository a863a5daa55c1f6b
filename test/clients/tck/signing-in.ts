import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import { begun, reaches, said, textsOf } from "./talk";

/** A task that goes on once somebody has authorised it elsewhere (A2A 1.0 §7.6). The kit names these and tests none. */
export function signingIn(agent: Agent): void {
  const login = (): Promise<Wire> => begun(agent, "login-required");
  /** By the key of what is asked. */
  const answering = ({ id, status }: Wire, response: object): Wire => {
    const [key] = Object.keys(status.message.parts.find(({ data }: Wire) => data).data.inputRequests);
    return said("tck-complete-task", { taskId: id, parts: [{ data: { inputResponses: { [key ?? ""]: response } } }] });
  };

  it("AUTH-INTASK-001 AUTH-INTASK-002 waits as a task, in the state that says for what", async () => {
    const task = await login();
    expect(task.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
    expect(await agent.call("GetTask", { id: task.id })).toEqual(task);
    const { tasks } = await agent.call("ListTasks", { contextId: task.contextId, status: "TASK_STATE_AUTH_REQUIRED" });
    expect(tasks.map(({ id }: Wire) => id)).toEqual([task.id]);
  });

  it("AUTH-INTASK-003 says what is to be done, and where", async () => {
    const { status } = await login();
    const [text] = textsOf([status.message]);
    expect(text).toContain("Please sign in.");
    expect(text).toContain("https://login.example/start");
  });

  it("AUTH-INTASK-004 takes no credential over this protocol, whatever a client sends", async () => {
    const accepting = answering(await login(), { action: "accept", content: { password: "a secret" } });
    const { task } = await agent.call("SendMessage", accepting);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(textsOf(task.artifacts)).toEqual(['{"action":"accept"}']);
  });

  it("AUTH-INTASK-005 keeps streams open meanwhile", async () => {
    const stream = await agent.stream("SendStreamingMessage", said("login-required"));
    const { task: begin } = await stream.next();
    const waiting = await reaches(agent, begin, "TASK_STATE_AUTH_REQUIRED");
    const subscribed = await agent.stream("SubscribeToTask", { id: waiting.id });
    await agent.call("SendMessage", answering(waiting, { action: "accept" }));
    for (const one of [stream, subscribed]) {
      expect((await one.rest()).at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    }
  });

  it("AUTH-INTASK-006 takes the client's no for one", async () => {
    const { task } = await agent.call("SendMessage", answering(await login(), { action: "decline" }));
    expect(textsOf(task.artifacts)).toEqual(['{"action":"decline"}']);
  });
}
